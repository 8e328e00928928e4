// What the scripts of the Debian package do themselves, and what they leave to the service's user: run in folders of their own,
// with other programs in the place of those that need root. `npm run test:packages` has the same through dpkg.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { after, beforeEach, test } from 'node:test'

const SCRIPTS = join(import.meta.dirname, '..', '..', 'packaging', 'debian')
const DATA = 'var/lib/latchkey'
const STORE = ['latchkey.db', 'revocations.log', 'backups/before-1.lkb', 'witness/1-0123456789abcdef.json']
const PROGRAMS = ['getent', 'adduser', 'deluser', 'latchkey-admin', 'deb-systemd-helper', 'deb-systemd-invoke']

const folder = mkdtempSync(join(tmpdir(), 'latchkey-scripts-'))
const root = join(folder, 'root')
const bin = join(folder, 'bin')

function put(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

function program(name: string, script: string): void {
  put(join(bin, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(bin, name), 0o755)
}

const files = () => globSync('**', { cwd: root }).sort()

function run(script: string, ...args: string[]): void {
  const text = readFileSync(join(SCRIPTS, script), 'utf8').replaceAll(/\/(var\/lib|etc)\/latchkey/g, `${root}$&`)
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }
  execFileSync('sh', ['-c', text, script, ...args], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] })
}

/** What comes after `--` in the arguments. */
const RUNS_IT = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'

beforeEach(() => {
  rmSync(folder, { recursive: true, force: true })
  for (const file of STORE) put(join(root, DATA, file), '')
  put(join(root, 'etc/latchkey/latchkey.env'), '')
  put(join(root, 'etc/latchkey/master.key'), '')
  for (const name of PROGRAMS) program(name, '')
  program('install', `echo "$@" >> ${join(folder, 'installed')}`)
})

after(() => rmSync(folder, { recursive: true, force: true }))

test('root itself changes nothing in the folder of the service’s user, where links can appear at any moment', () => {
  program('setpriv', '')
  put(join(root, 'etc/latchkey/.made-by-package'), '')
  const found = files()
  run('postinst', 'configure', '1.0')
  run('preinst', 'upgrade', '1.0')
  run('postrm', 'remove')
  assert.deepEqual(files(), found)
  const named = readFileSync(join(folder, 'installed'), 'utf8').match(/\S+$/gm)
  assert.deepEqual(named, [join(root, 'etc/latchkey'), join(root, DATA)])
  run('postrm', 'purge')
  assert.deepEqual(
    files(),
    found.filter((name) => !name.endsWith('.made-by-package')),
  )
})

test('purging leaves nothing of the store, and what others have put into its folder', () => {
  program('setpriv', RUNS_IT)
  put(join(root, DATA, 'mine.txt'), '')
  symlinkSync(join(folder, 'nowhere'), join(root, DATA, 'restore-1.part'))
  run('postrm', 'purge')
  assert.deepEqual(
    files().filter((name) => name.startsWith(`${DATA}/`)),
    [`${DATA}/mine.txt`],
  )
})

test('without the service’s user the store stays, and purging ends well', () => {
  program('setpriv', 'exit 1')
  program('getent', 'exit 2')
  const found = files()
  run('postrm', 'purge')
  assert.deepEqual(files(), found)
})

test('a service that cannot start yet is tried again without an end', () => {
  for (const name of ['systemd/latchkey.service', 'systemd/latchkey-sidecar.service']) {
    const unit = readFileSync(join(SCRIPTS, '../../deploy', name), 'utf8')
    const lines = [/^StartLimitIntervalSec=0$/m, /^Restart=on-failure$/m, /^RestartSec=[1-9]\d*$/m]
    for (const line of lines) assert.match(unit, line, name)
  }
})
