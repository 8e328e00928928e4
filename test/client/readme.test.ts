// The examples of client/README.md, as a user would run them: in a project of their own, with the package as it is installed.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { openService, type Service } from './world.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
const readme = readFileSync(join(root, 'client', 'README.md'), 'utf8')
const examples = [...readme.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = '']) => code)

describe('the examples of the client’s README', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-readme-'))
  let service: Service
  before(async () => {
    service = await openService()
    mkdirSync(join(folder, 'node_modules', '@types'), { recursive: true })
    symlinkSync(root, join(folder, 'node_modules', 'latchkey'))
    symlinkSync(join(root, 'node_modules', '@types', 'node'), join(folder, 'node_modules', '@types', 'node'))
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    for (const [i, code] of examples.entries()) writeFileSync(join(folder, `example-${i}.ts`), code)
  })
  after(async () => {
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const outputs = [/^Acme owner\n1 CI\nsub_\w+\n$/, /^404 API token not found\n$/]

  test('there is an expectation for each of them', () => assert.equal(examples.length, outputs.length))

  for (const [i, expected] of outputs.entries()) {
    test(`example ${i + 1} does what it says`, async () => {
      const env = { ...process.env, TOKENS_URL: service.url, TOKENS_KEY: service.accountKey }
      const { stdout } = await run(process.execPath, [`example-${i}.ts`], { cwd: folder, env })
      assert.match(stdout, expected)
    })
  }

  test('they compile in a strict project', async () => {
    const options = [
      '--noEmit',
      '--strict',
      '--exactOptionalPropertyTypes',
      '--target',
      'esnext',
      '--module',
      'nodenext',
    ]
    const files = examples.map((_, i) => `example-${i}.ts`)
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    await run(tsc, [...options, '--types', 'node', ...files], { cwd: folder }).catch(({ stdout }) =>
      assert.fail(stdout),
    )
  })
})
