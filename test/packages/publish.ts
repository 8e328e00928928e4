// The check before publishing, against a registry that answers as told.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..', '..')

/** A folder with a package that is ready, and the answer of the check where the registry names these owners. */
async function check(owners: readonly string[] | undefined, ...options: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-publish-'))
  const registry = createServer((request, response) => {
    const found = request.url?.startsWith('/-/whoami') ? { username: 'us' } : owners && packument(owners)
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(found ?? {}))
  }).listen(0, '127.0.0.1')
  await once(registry, 'listening')
  const { port } = registry.address() as AddressInfo
  try {
    for (const name of ['packaging', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true })
    const { version } = (await import(join(folder, 'package.json'), { with: { type: 'json' } })).default
    mkdirSync(join(folder, 'dist'))
    writeFileSync(join(folder, 'dist', `latchkey-${version}.tgz`), '')
    writeFileSync(join(folder, 'npmrc'), `registry=http://127.0.0.1:${port}/\n//127.0.0.1:${port}/:_authToken=x\n`)
    const env = {
      ...process.env,
      NPM_CONFIG_USERCONFIG: join(folder, 'npmrc'),
      NPM_CONFIG_CACHE: join(folder, 'cache'),
    }
    const child = spawn(process.execPath, ['packaging/publish.mjs', '--dry-run', ...options], { cwd: folder, env })
    let said = ''
    child.stderr.on('data', (chunk) => {
      said += chunk
    })
    const [code] = await once(child, 'close')
    return { code, said }
  } finally {
    registry.closeAllConnections()
    registry.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

function packument(owners: readonly string[]) {
  const maintainers = owners.map((name) => ({ name, email: `${name}@x.example` }))
  const version = { name: 'latchkey', version: '0.0.1', dist: { tarball: 'http://x.example/x.tgz' }, maintainers }
  return { name: 'latchkey', 'dist-tags': { latest: '0.0.1' }, versions: { '0.0.1': version }, maintainers }
}

test('nothing is published under a name that is a stranger’s, or free unless that was meant', async () => {
  const stranger = await check(['somebody'])
  assert.equal(stranger.code, 1)
  assert.match(stranger.said, /belongs to somebody, not to us/)
  assert.match((await check(['somebody'], '--first')).said, /is taken, by somebody/)
  const free = await check(undefined)
  assert.equal(free.code, 1)
  assert.match(free.said, /is free/)
})

test('what is ours, or free and meant to be ours, may be published', async () => {
  assert.deepEqual(await check(['them', 'us']).then(({ code }) => code), 0)
  assert.deepEqual(await check(undefined, '--first').then(({ code }) => code), 0)
})
