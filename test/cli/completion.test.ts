// Completion: what a shell offers is what the commands have.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, describe, test } from 'node:test'
import { choicesIn } from '../../src/cli/commands/completion.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { Cli } from '../support/cli.ts'

const cli = new Cli()
const scripts = new Map<string, string>()
before(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) scripts.set(shell, (await cli.run('completion', shell)).stdout)
})
after(() => cli.dispose())

const all = choicesIn(buildProgram({ stdout: process.stdout, stderr: process.stderr }))

/** What bash offers for the last of these words. */
function offered(...words: string[]): string[] {
  const script = `${scripts.get('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _latchkey; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout.split('\n').filter((word) => word !== '')
}

describe('bash offers', { skip: spawnSync('bash', ['-c', 'true']).status !== 0 }, () => {
  test('commands, and those below them', () => {
    assert.deepEqual(offered('latchkey', 'tok'), ['token'])
    assert.deepEqual(offered('latchkey', 'token', 'd'), ['disable', 'delete'])
  })

  test('the options of the command, wherever others stand before it, and those of all commands', () => {
    assert.deepEqual(offered('latchkey', 'token', 'list', '--created'), ['--created-from', '--created-before'])
    assert.deepEqual(offered('latchkey', '--context', 'key', 'token', 'list', '--us'), ['--used'])
    assert.deepEqual(offered('latchkey', 'token', 'get', 'tok_x', '--sh'), ['--show-credential'])
    assert.deepEqual(offered('latchkey', 'key', 'list', '--cont'), ['--context'])
  })

  test('the values of an option that has a list of them, and no option in place of another value', () => {
    assert.deepEqual(offered('latchkey', 'key', 'create', '--role', ''), ['owner', 'manager', 'viewer', 'verifier'])
    assert.deepEqual(offered('latchkey', 'token', 'list', '--effective-status', 'e'), ['expired'])
    assert.deepEqual(offered('latchkey', 'token', 'list', '--search', ''), [])
    assert.deepEqual(offered('latchkey', 'completion', '').slice(0, 3), ['bash', 'zsh', 'fish'])
  })
})

for (const shell of ['zsh', 'fish']) {
  test(`the script for ${shell} has every command, option and value, and every quote is closed`, () => {
    const script = scripts.get(shell) ?? ''
    for (const { at, words, options } of all) {
      if (at !== '') assert.ok(script.includes(`'${at}'`), at)
      for (const { name } of words) assert.ok(script.includes(name), name)
      for (const { name, values } of options) {
        assert.ok(script.includes(shell === 'fish' ? ` -l ${name.slice(2)}` : name), name)
        for (const value of values) assert.ok(script.includes(value), value)
      }
    }
    const unescaped = script.replaceAll(shell === 'fish' ? /\\['\\]/g : /'\\''/g, '')
    for (const line of unescaped.split('\n')) assert.equal((line.match(/'/g) ?? []).length % 2, 0, line)
  })
}

test('another shell is refused as wrong usage', async () => {
  const { code, stderr } = await cli.run('completion', 'tcsh')
  assert.equal(code, 2)
  assert.match(stderr, / bash, zsh, fish/)
})
