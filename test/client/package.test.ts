// The package latchkey-client as its users have it: packed, installed in an empty folder, used.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFileSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { openService, type Service } from './world.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')
/** The client 72,000, half of it the types of all operations; the verifier, with the rules of policies and addresses, 20,000. */
const MOST_BYTES = 120_000

describe('the package latchkey-client', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-package-'))
  const installed = join(folder, 'node_modules', 'latchkey-client')
  let service: Service
  before(async () => {
    const { buildClientPackage } = await import(join(root, 'packaging', 'client-package.mjs'))
    const out = join(folder, 'out')
    mkdirSync(out)
    const file: string = await buildClientPackage({ root, out, work: join(folder, 'work') })
    writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}')
    copyFileSync(join(import.meta.dirname, 'smoke.mjs'), join(folder, 'smoke.mjs'))
    await run('npm', ['install', '--offline', '--no-audit', '--no-fund', '--loglevel=error', file], { cwd: folder })
    service = await openService()
  })
  after(async () => {
    await service.close()
    rmSync(folder, { recursive: true, force: true })
  })

  test('is installed without any other package', async () => {
    const { stdout } = await run('npm', ['ls', '--all', '--parseable'], { cwd: folder })
    assert.deepEqual(stdout.trim().split('\n').slice(1), [installed])
  })

  test(`has at most ${MOST_BYTES} bytes without source maps`, () => {
    const files = globSync('**/*', { cwd: installed, withFileTypes: true }).filter((entry) => entry.isFile())
    const counted = files.filter(({ name }) => !name.endsWith('.map'))
    const bytes = counted.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0)
    assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`)
  })

  test('every export has types and a script, and every script a source map with its sources', () => {
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
    assert.deepEqual([manifest.sideEffects, manifest.dependencies], [false, undefined])
    for (const target of Object.values<string | Record<string, string>>(manifest.exports)) {
      for (const file of typeof target === 'string' ? [target] : Object.values(target)) statSync(join(installed, file))
    }
    for (const script of globSync('**/*.js', { cwd: installed })) {
      const { sourcesContent } = JSON.parse(readFileSync(join(installed, `${script}.map`), 'utf8'))
      assert.ok(sourcesContent.length > 0 && sourcesContent.every((source: unknown) => typeof source === 'string'))
    }
  })

  test('its types compile in a strict project that has none of the frameworks', async () => {
    const code = `import { createClient, type Verdict } from 'latchkey-client'
      import { latchkey } from 'latchkey-client/fetch'
      import { latchkey as forExpress } from 'latchkey-client/express'
      import { createVerifier } from 'latchkey-client/verifier'
      const verify = createClient({ baseUrl: 'https://tokens.example.com' })
      export const verdict: Promise<Verdict> = verify.verify('x', { scope: 'orders:read' })
      export const check = latchkey({ verify, scope: (request) => new URL(request.url).pathname })
      export const handler = forExpress({ verify })
      const verifier = await createVerifier({ baseUrl: 'https://tokens.example.com', key: 'x' })
      export const fromMemory = forExpress({ verify: verifier })
      export const source: 'memory' | 'service' = (await verifier.verify('x')).source`
    writeFileSync(join(folder, 'use.ts'), code)
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const options = ['--noEmit', '--strict', '--target', 'esnext', '--module', 'nodenext', '--lib', 'esnext,dom']
    await run(tsc, [...options, 'use.ts'], { cwd: folder }).catch(({ stdout }) => assert.fail(stdout))
  })

  test('does in this Node.js what it says', async () => {
    const { stdout } = await run(process.execPath, ['smoke.mjs', service.url, service.accountKey], { cwd: folder })
    assert.equal(stdout, 'ok\n')
  })
})
