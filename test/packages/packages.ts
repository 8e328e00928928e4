// Every package is built from a fresh clone, installed in a place of its own, and taken through the same walk.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { copyFileSync, existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { buildAgain, buildBefore, buildNow, plainEnv, removeWork, work } from './build.ts'
import { DebianSystem, executablePlace, imagePlace, npmPlace } from './places.ts'
import { command, create, disable, endAll, requireOneOfEach, serve, upgrade, verdict, walk } from './walk.ts'

const root = join(import.meta.dirname, '..', '..')
const MB = 1e6
const READY_MS = 1_500

/** What needs more than one machine of one kind, or the machine itself. */
const NOT_RUN = [
  'systemd: tests do not start it. The unit is rated, and its command is run with its user and settings',
  'podman, docker and compose: tests reach no registry for PostgreSQL and Caddy. compose.yaml is checked, the image runs in a sandbox',
  'a Kubernetes cluster: its files are checked',
  `platforms other than ${process.platform}-${process.arch}`,
]

let now = ''
let previous = ''
const measured: string[] = []

function fileIn(folder: string, pattern: string): string {
  const [found, ...more] = globSync(pattern, { cwd: folder })
  assert.ok(found !== undefined && more.length === 0, `one ${pattern} in ${folder}`)
  return join(folder, found)
}

function measure(what: string, value: string): void {
  measured.push(`${what}: ${value}`)
}

before(() => {
  const begun = performance.now()
  now = buildNow()
  measure('building all, from the clone on', `${Math.round((performance.now() - begun) / 1000)} s`)
  previous = buildBefore()
})

after(() => {
  endAll()
  removeWork()
  console.error(`\nMeasured:\n  ${measured.join('\n  ')}`)
  for (const line of NOT_RUN) console.error(`Not run: ${line}`)
})

test('each package is as small as promised, and named in the checksums', () => {
  const limits = { '*.tgz': 3, 'latchkey-linux-*': 130, '*.oci.tar': 80, '*.deb': 130, '*.cdx.json': 3 }
  for (const [pattern, most] of Object.entries(limits)) {
    const file = fileIn(now, pattern)
    const { size } = statSync(file)
    measure(pattern, `${(size / MB).toFixed(1)} MB`)
    assert.ok(size <= most * MB, `${file} has ${size} bytes`)
  }
  execFileSync('sha256sum', ['--check', '--strict', '--quiet', 'SHA256SUMS'], { cwd: now })
  const parts = JSON.parse(readFileSync(fileIn(now, '*.cdx.json'), 'utf8'))
  const names = parts.components.map(({ name }: { name: string }) => name)
  assert.equal(parts.bomFormat, 'CycloneDX')
  for (const name of ['fastify', 'pg', `node-${process.platform}-${process.arch}`])
    assert.ok(names.includes(name), name)
  assert.ok(!names.includes('vite'))
})

test('two builds of one commit are the same, bit for bit', { skip: process.env.BUILT !== undefined }, () => {
  const [first, second] = [now, buildAgain()].map((folder) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8'))
  assert.equal(second, first)
})

test('another build of the pinned Node.js can be shipped, and is in the list of parts; another version cannot', () => {
  const build = (node: string) => {
    const out = join(work, 'other-node')
    const options = ['--only', 'executable', '--node', node, '--out', out]
    execFileSync('npm', ['run', '--silent', 'package', '--', ...options], { cwd: root, env: plainEnv, stdio: 'pipe' })
    return out
  }
  const [same, other] = [join(work, 'same'), join(work, 'other')]
  copyFileSync(process.execPath, same)
  writeFileSync(other, '#!/bin/sh\necho v1.2.3\n', { mode: 0o755 })
  const built = build(same)
  const [fromFile, pinned] = [built, now].map((folder) => readFileSync(fileIn(folder, 'latchkey-linux-*')))
  assert.ok(fromFile?.equals(pinned as Buffer))
  const { components } = JSON.parse(readFileSync(fileIn(built, '*.cdx.json'), 'utf8'))
  const { hashes } = components.find(({ name }: { name: string }) => name === 'node')
  assert.equal(hashes[0].content, hash('sha256', readFileSync(same)))
  assert.throws(() => build(other), /v1\.2\.3/)
})

test('the npm package runs in an empty folder on the Node.js of the machine, and upgrades', async () => {
  const place = npmPlace(fileIn(now, '*.tgz'), 'npm')
  const demo = await serve({ ...place, env: { ...place.env, LATCHKEY_DATA_DIR: join(work, 'npm-demo') } }, {}, '--demo')
  // Printed after the line that says that it is ready.
  while (!demo.printed().includes('Account key  lk_key_')) await setTimeout(20)
  await demo.stop()
  measure('npx, packages fetched already, until it is ready', `${(await walk(place)).readyMs} ms`)
  const data = join(work, 'npm-upgrade')
  const old = npmPlace(fileIn(previous, '*.tgz'), 'npm-before', data)
  await upgrade(old, npmPlace(fileIn(now, '*.tgz'), 'npm-after', data))
})

test('the npm package is not private, exports a typed client, and runs where npm has put it for all folders', () => {
  const prefix = join(work, 'npm-global')
  const env = plainEnv
  const npm = (...args: string[]) => execFileSync('npm', [...args, '--loglevel=error'], { cwd: prefix, env })
  mkdirSync(prefix)
  writeFileSync(join(prefix, 'package.json'), '{"type":"module"}')
  npm('install', '--global', '--prefix', prefix, fileIn(now, '*.tgz'))
  const installed = join(prefix, 'lib/node_modules/latchkey')
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
  assert.equal(manifest.private, undefined)
  assert.equal(manifest.scripts, undefined)
  for (const { types, default: script } of Object.values<{ types: string; default: string }>(manifest.exports)) {
    assert.ok(existsSync(join(installed, types)) && existsSync(join(installed, script)))
  }
  const version = execFileSync(join(prefix, 'bin/latchkey'), ['--version'], { env, encoding: 'utf8' })
  assert.equal(version.trim(), manifest.version)
  npm('install', fileIn(now, '*.tgz'))
  const script =
    "import { createClient } from 'latchkey/client'; createClient({ baseUrl: 'http://x', accountKey: 'k' })"
  execFileSync('node', ['--input-type=module', '--eval', script], { cwd: prefix, env })
})

test('the executable needs nothing on the machine, is ready in time, and upgrades', async () => {
  const file = fileIn(now, 'latchkey-linux-*')
  const place = executablePlace(file, 'executable')
  await walk(place)
  const starts = []
  for (let n = 0; n < 5; n++) {
    const server = await serve(place)
    starts.push(server.readyMs)
    await server.stop()
  }
  measure('executable until it is ready, five starts', `${starts.sort((a, b) => a - b).join(', ')} ms`)
  // The fastest: what others do on the machine at that moment only adds to it.
  assert.ok((starts[0] ?? 0) <= READY_MS)
  const { out } = await command(place, '--help')
  for (const [, name = ''] of out.matchAll(/^ {2}([a-z][a-z-]+)/gm)) {
    assert.equal((await command(place, name, '--help')).code, 0, name)
  }
  const data = join(work, 'executable-upgrade')
  const old = executablePlace(fileIn(previous, 'latchkey-linux-*'), 'executable-before', data)
  await upgrade(old, executablePlace(file, 'executable-after', data))
})

test('the executable serves a store in PostgreSQL once `migrate` has made it, as compose and Kubernetes have it', async () => {
  const postgres = await sharedServer()
  const database = postgres.url(await emptyDatabase(postgres))
  const place = executablePlace(fileIn(now, 'latchkey-linux-*'), 'executable-postgres')
  const masterKey = randomBytes(32).toString('base64')
  const settings = { DATABASE_URL: database, LATCHKEY_MASTER_KEY: masterKey, LATCHKEY_AUTO_MIGRATE: 'off' }
  const onPostgres = { ...place, env: { ...place.env, ...settings } }
  assert.match((await command(onPostgres, 'account', 'list')).err, /latchkey migrate/)
  assert.equal((await command(onPostgres, 'migrate')).code, 0)
  const estate = await create(onPostgres)
  const server = await serve(onPostgres)
  assert.equal(await verdict(server.url, estate.kept.credential), 204)
  await disable(server.url, estate)
  await requireOneOfEach(server.url, estate)
  await server.stop()
})

test('the Debian package is installed, upgraded with a backup, removed and purged', async () => {
  const lintian = spawnSync('lintian', ['--allow-root', '--fail-on', 'error,warning', fileIn(now, '*.deb')], {
    encoding: 'utf8',
  })
  assert.equal(lintian.status, 0, lintian.stdout)
  const system = new DebianSystem('debian')
  const at = (path: string) => join(system.root, path)
  const mode = (path: string) => (statSync(at(path)).mode & 0o777).toString(8)

  system.install(fileIn(previous, '*.deb'))
  assert.equal(mode('etc/latchkey/master.key'), '600')
  assert.equal(mode('var/lib/latchkey'), '700')
  const key = readFileSync(at('etc/latchkey/master.key'), 'utf8')
  const place = system.place('deb')
  await upgrade(place, place, () => system.install(fileIn(now, '*.deb')))
  assert.equal(globSync('before-*.lkb', { cwd: at('var/lib/latchkey/backups') }).length, 1)
  assert.equal(readFileSync(at('etc/latchkey/master.key'), 'utf8'), key)
  const exposure = spawnSync(
    'systemd-analyze',
    ['security', '--offline=true', at('usr/lib/systemd/system/latchkey.service')],
    { encoding: 'utf8' },
  )
  const level = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(exposure.stdout)?.[1])
  measure('exposure of the unit', String(level))
  assert.ok(level <= 2.5)

  system.run('dpkg', '--remove', 'latchkey')
  assert.ok(existsSync(at('var/lib/latchkey/latchkey.db')) && existsSync(at('etc/latchkey/master.key')))
  system.install(fileIn(now, '*.deb'))
  await walk(place)
  // It works from a folder that the service's user cannot enter, and ignores a .env in it.
  writeFileSync(at('root/.env'), 'LATCHKEY_NOT_A_SETTING=1\n')
  for (const access of ['0700', '0755']) {
    system.run('sh', '-c', `chmod ${access} /root && cd /root && latchkey-admin account list`)
  }

  // As an instance on PostgreSQL and a backup that was killed leave them.
  const left = 'mkdir witness && : > witness/1-0123456789abcdef.json && : > backups/before-1.lkb.01234567.part'
  system.asService(left)
  for (const mine of ['var/lib/latchkey/mine.txt', 'etc/latchkey/mine.txt']) writeFileSync(at(mine), 'mine')
  system.run('dpkg', '--purge', 'latchkey')
  assert.deepEqual(globSync('var/lib/latchkey/*/', { cwd: system.root }), [])
  assert.deepEqual(globSync('{etc,var/lib}/latchkey/**/*.*', { cwd: system.root }).sort(), [
    'etc/latchkey/mine.txt',
    'var/lib/latchkey/mine.txt',
    // Made by the walk's own command, not by the package.
    'var/lib/latchkey/walk.lkb',
  ])
  assert.doesNotMatch(readFileSync(at('etc/passwd'), 'utf8'), /latchkey/)
})

test('the image runs as another user than root on a read-only root, and says whether it is healthy', async () => {
  const data = join(work, 'image-data')
  mkdirSync(data)
  const { place, config, ran, ownData } = imagePlace(fileIn(now, '*.oci.tar'), data)
  assert.match(fileIn(now, '*.oci.tar'), new RegExp(`-${ran}\\.oci\\.tar$`))
  assert.notEqual(String(config.User).split(':')[0], '0')
  assert.deepEqual(config.Volumes, { '/var/lib/latchkey': {} })
  const old = executablePlace(fileIn(previous, 'latchkey-linux-*'), 'image-before', data)
  await upgrade(old, place, ownData)
  await walk(place)
  const server = await serve(place)
  const settings = { ...place, env: { ...place.env, PORT: new URL(server.url).port } }
  assert.equal((await command(settings, 'ready')).code, 0)
  await server.stop()
  assert.equal((await command(settings, 'ready')).code, 1)
})
