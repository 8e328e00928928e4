// The settings: which variables are known, and what is said about the others.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { isPlainHttp, readConfig, readProcessConfig, SETTINGS } from '../../src/config.ts'

const refused = (message: RegExp) => ({ name: 'OperatorError', message })

test('a misspelt setting is refused, and the nearest one is suggested', () => {
  for (const [name, meant] of [
    ['LATCHKEY_DATADIR', 'LATCHKEY_DATA_DIR'],
    ['LATCHKEY_WORKER', 'LATCHKEY_WORKERS'],
    ['LATCHKEY_MASTERKEY_FILE', 'LATCHKEY_MASTER_KEY_FILE'],
    ['latchkey_data_dir', 'LATCHKEY_DATA_DIR'],
    ['LATCHKEY_PORT', 'PORT'],
    ['LATCHKEY_LOG_LEVEL', 'LOG_LEVEL'],
    ['LATCHKEY_DATABASE_URL', 'DATABASE_URL'],
  ] as const) {
    const message = new RegExp(`^${name} .*; .* ${meant}\\?$`, 'm')
    assert.throws(() => readConfig({ [name]: '8080' }), refused(message))
  }
})

test('every unknown setting is named, also one that resembles none, and no value is repeated', () => {
  const env = { LATCHKEY_QUUX: 'very-secret', LATCHKEY_WORKRES: '2' }
  assert.throws(() => readConfig(env), refused(/^LATCHKEY_QUUX .*setting\nLATCHKEY_WORKRES .*LATCHKEY_WORKERS/))
  assert.throws(() => readConfig(env), refused(/^(?!.*very-secret)/s))
})

test('variables of others are left alone: unset ones, other prefixes, and what Kubernetes sets for a Service', () => {
  const env = {
    LATCHKEY_QUUX: ' ',
    MY_LATCHKEY_QUUX: '1',
    LATCHKEY_SERVICE_HOST: '10.0.0.1',
    LATCHKEY_SERVICE_PORT: '80',
    LATCHKEY_SERVICE_PORT_HTTP: '80',
    LATCHKEY_PORT: 'tcp://10.0.0.1:80',
    LATCHKEY_PORT_80_TCP: 'tcp://10.0.0.1:80',
    LATCHKEY_PORT_80_TCP_PROTO: 'tcp',
    LATCHKEY_PORT_80_TCP_PORT: '80',
    LATCHKEY_PORT_80_TCP_ADDR: '10.0.0.1',
    LATCHKEY_VERIFIER_SERVICE_HOST: '10.0.0.2',
    LATCHKEY_VERIFIER_PORT: 'tcp://10.0.0.2:80',
  }
  assert.equal(readConfig(env).port, 3000)
})

/** In a folder of its own with such a .env file, and with these variables only. */
function withEnvFile(t: TestContext, text: string, env: Readonly<Record<string, string>> = {}): void {
  const [folder, here, before] = [mkdtempSync(join(tmpdir(), 'latchkey-env-')), process.cwd(), process.env]
  t.after(() => {
    process.chdir(here)
    process.env = before
    rmSync(folder, { recursive: true })
  })
  process.env = { ...env }
  writeFileSync(join(folder, '.env'), text)
  process.chdir(folder)
}

test('a misspelt setting in a .env file is refused too', (t) => {
  withEnvFile(t, 'LATCHKEY_DATADIR=/elsewhere\n')
  assert.throws(readProcessConfig, refused(/^LATCHKEY_DATADIR .*LATCHKEY_DATA_DIR\?/))
})

test('of a .env file only settings are read, and variables of PostgreSQL and OpenTelemetry: no folder chooses the server', (t) => {
  const others = {
    XDG_CONFIG_HOME: '/hostile',
    HOME: '/hostile',
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
    NODE_OPTIONS: '--require=/hostile.cjs',
    NODE_EXTRA_CA_CERTS: '/hostile.pem',
    HTTPS_PROXY: 'http://hostile.example',
    SSL_CERT_FILE: '/hostile.pem',
    PATH: '/hostile',
    xdg_config_home: '/hostile',
  }
  const ours = { PORT: '4000', LOG_LEVEL: 'warn', LATCHKEY_APP_TYPE: 'ours', PGHOST: 'db', OTEL_SERVICE_NAME: 'ours' }
  const lines = Object.entries({ ...others, ...ours }).map(([name, value]) => `${name}=${value}\n`)
  withEnvFile(t, lines.join(''), { LOG_LEVEL: 'error' })
  const { configDir, port, appType, logLevel, otelServiceName } = readProcessConfig()
  assert.deepEqual([port, appType, otelServiceName], [4000, 'ours', 'ours'])
  assert.equal(configDir, join(homedir(), '.config', 'latchkey'))
  assert.equal(logLevel, 'error')
  assert.deepEqual(process.env, { ...ours, LOG_LEVEL: 'error' })
})

test('one rule says which addresses are of this machine, so that plain HTTP to them is safe', () => {
  for (const host of [
    'localhost',
    'LOCALHOST:3000',
    'app.localhost',
    '127.0.0.1',
    '127.255.0.9:80',
    '127.1',
    '[::1]:3000',
    '[0:0::1]',
  ])
    assert.ok(!isPlainHttp(`http://${host}/x`), host)
  for (const host of [
    'localhost.evil.example',
    'localhost-evil.example',
    'evillocalhost',
    'localhost.',
    '127.0.0.1.evil.example',
    '127.evil.example',
    '[::1].evil.example',
    '[::2]',
    '[::ffff:10.0.0.1]',
    '0.0.0.0',
    '10.0.0.1',
    'localhost@evil.example',
  ])
    assert.ok(isPlainHttp(`http://${host}/x`) || URL.parse(`http://${host}/x`) === null, host)
  assert.ok(!isPlainHttp('https://evil.example'))
})

test('docs/operate/settings.md describes every setting', () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'operate', 'settings.md'), 'utf8')
  assert.deepEqual(
    SETTINGS.filter((name) => !page.includes(`\`${name}\``)),
    [],
  )
})

test('keys of an issuer and the issuer itself are fetched over HTTPS, or from this machine', () => {
  const others = { LATCHKEY_JWT_ISSUER: 'x', LATCHKEY_JWT_AUDIENCE: 'x', LATCHKEY_JWT_ACCOUNT_CLAIM: 'x' }
  const jwks = (address: string) => readConfig({ ...others, LATCHKEY_JWT_JWKS: address }).jwt?.jwks
  for (const safe of [
    'https://id.example.com/keys',
    'http://127.0.0.1:8080/keys',
    'http://[::1]/keys',
    '/etc/jwks.json',
    'jwks',
  ]) {
    assert.equal(jwks(safe), safe)
  }
  for (const plain of [
    'http://id.example.com/keys',
    'HTTP://id.example.com/',
    'http://127.0.0.1.example.com/',
    'http://10.0.0.1/',
  ]) {
    assert.throws(() => jwks(plain), refused(/^LATCHKEY_JWT_JWKS .*https:\/\/, .*file/))
  }
  assert.throws(
    () => readConfig({ LATCHKEY_OIDC_ISSUER: 'http://id.example.com' }),
    refused(/^LATCHKEY_OIDC_ISSUER must/),
  )
})

test('where browsers reach the service can be said alone; who lets people sign in says it too', () => {
  const LATCHKEY_PUBLIC_URL = 'https://tokens.example.com/'
  const { publicUrl, oidc } = readConfig({ LATCHKEY_PUBLIC_URL })
  assert.deepEqual([publicUrl, oidc], ['https://tokens.example.com', undefined])
  const provider = {
    LATCHKEY_OIDC_ISSUER: 'https://id.example.com',
    LATCHKEY_OIDC_CLIENT_ID: 'latchkey',
    LATCHKEY_OIDC_CLIENT_SECRET: 'secret',
    LATCHKEY_OIDC_GRANTS: 'grants.json',
  }
  assert.throws(() => readConfig(provider), refused(/^Set all of LATCHKEY_OIDC_ISSUER, .*LATCHKEY_PUBLIC_URL, or none/))
  assert.equal(readConfig({ ...provider, LATCHKEY_PUBLIC_URL }).oidc?.publicUrl, 'https://tokens.example.com')
  const { LATCHKEY_OIDC_GRANTS: _, ...incomplete } = { ...provider, LATCHKEY_PUBLIC_URL }
  assert.throws(() => readConfig(incomplete), refused(/^Set all of .*LATCHKEY_OIDC_GRANTS/))
})
