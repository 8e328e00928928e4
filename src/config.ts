// The environment, read once and checked. Nothing else reads process.env.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { OperatorError } from './tokens/errors.ts'
import { decodeText } from './tokens/model/fields.ts'
import { UNITS_MS } from './tokens/model/times.ts'
import type { RateLimit, RateLimitRules } from './tokens/trust/rate-limit.ts'
import { refuseUnknownSettings } from './unknown-settings.ts'

export interface Config {
  readonly host: string
  readonly port: number
  readonly databaseUrl: string | undefined
  /** Connections to PostgreSQL at most. */
  readonly pgPool: number
  /** Named prepared statements; off behind a pooler in transaction mode. */
  readonly pgPrepared: boolean
  /** Off: a PostgreSQL schema that is not up to date is refused. */
  readonly autoMigrate: boolean
  readonly dataDir: string
  /** Unset: in the data folder. */
  readonly revocationJournal: string | undefined
  /** Base64, as set. The file is read only if the key itself is not set. */
  readonly masterKey: string | undefined
  readonly masterKeyFile: string | undefined
  /** Needed as well while the master key is being rotated. */
  readonly previousMasterKey: string | undefined
  readonly previousMasterKeyFile: string | undefined
  readonly logLevel: string
  /** Processes serving one port. */
  readonly workers: number
  /** How long requests are still served after a stop signal, while /readyz says that the server is not ready. */
  readonly drainSeconds: number
  readonly appType: string
  readonly appVersion: string
  readonly credentialHeader: string | undefined
  readonly jwt: JwtConfig | undefined
  readonly trustProxy: readonly string[]
  readonly rateLimits: RateLimitRules
}

export interface JwtConfig {
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  readonly accountClaim: string
}

/** Every variable that is read. Other names that begin with LATCHKEY_ are refused, so a misspelt one is not ignored. */
export const SETTINGS = [
  'HOST',
  'PORT',
  'DATABASE_URL',
  'LOG_LEVEL',
  'LATCHKEY_APP_TYPE',
  'LATCHKEY_APP_VERSION',
  'LATCHKEY_AUTO_MIGRATE',
  'LATCHKEY_CREDENTIAL_HEADER',
  'LATCHKEY_DATA_DIR',
  'LATCHKEY_DRAIN_SECONDS',
  'LATCHKEY_JWT_ACCOUNT_CLAIM',
  'LATCHKEY_JWT_AUDIENCE',
  'LATCHKEY_JWT_ISSUER',
  'LATCHKEY_JWT_JWKS',
  'LATCHKEY_MASTER_KEY',
  'LATCHKEY_MASTER_KEY_FILE',
  'LATCHKEY_PG_POOL',
  'LATCHKEY_PG_PREPARED',
  'LATCHKEY_PREVIOUS_MASTER_KEY',
  'LATCHKEY_PREVIOUS_MASTER_KEY_FILE',
  'LATCHKEY_RATE_LIMIT_ADDRESS',
  'LATCHKEY_RATE_LIMIT_FAILED',
  'LATCHKEY_RATE_LIMIT_KEY',
  'LATCHKEY_REVOCATION_JOURNAL',
  'LATCHKEY_TRUST_PROXY',
  'LATCHKEY_WORKERS',
] as const
type Setting = (typeof SETTINGS)[number]

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const HEADER_NAME = /^[A-Za-z0-9-]+$/

type Environment = Readonly<Record<string, string | undefined>>

/** Variables that are set win over those in a `.env` file of the current folder. */
export function readProcessConfig(): Config {
  // Into the environment itself: libraries look there too, such as pg for PGPASSWORD, and workers inherit it.
  for (const [name, value] of Object.entries(readEnvFile(resolve('.env')))) process.env[name] ??= value
  return readConfig(process.env)
}

/** Not process.loadEnvFile: it loses the first variable after a byte order mark, and reports every error as a missing file. */
function readEnvFile(path: string): Environment {
  let bytes: Uint8Array
  try {
    bytes = readFileSync(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new OperatorError(
      `${path} would be read for settings, but cannot be: ${message}. Make it a file that the user who runs this may read, ` +
        'or run this in another folder.',
    )
  }
  const text = decodeText(bytes)
  if (text === undefined) throw new OperatorError(`${path} is read for settings, but is no text in UTF-8`)
  return parseEnv(text)
}

export function readConfig(env: Environment): Config {
  refuseUnknownSettings(env, SETTINGS)
  const databaseUrl = given(env, 'DATABASE_URL')
  if (databaseUrl !== undefined && !isPostgres(databaseUrl)) {
    throw new OperatorError('DATABASE_URL must begin with postgres://. Leave it unset for the embedded store.')
  }
  const credentialHeader = given(env, 'LATCHKEY_CREDENTIAL_HEADER')
  if (credentialHeader !== undefined && !HEADER_NAME.test(credentialHeader)) {
    throw new OperatorError(`LATCHKEY_CREDENTIAL_HEADER must be a header's name, such as X-Api-Key`)
  }
  // The whole header value is taken as the credential, so "Bearer " would become a part of it and nothing would match.
  if (credentialHeader?.toLowerCase() === 'authorization') {
    throw new OperatorError(
      'LATCHKEY_CREDENTIAL_HEADER must be another header than Authorization, whose bearer credentials are always taken',
    )
  }
  return Object.freeze({
    host: given(env, 'HOST') ?? '127.0.0.1',
    port: readWhole(env, 'PORT', 3000, 0, 65_535),
    databaseUrl,
    pgPool: readWhole(env, 'LATCHKEY_PG_POOL', 10, 4, 1_000),
    pgPrepared: readSwitch(env, 'LATCHKEY_PG_PREPARED', 'on'),
    autoMigrate: readSwitch(env, 'LATCHKEY_AUTO_MIGRATE', 'on'),
    dataDir: resolve(given(env, 'LATCHKEY_DATA_DIR') ?? 'data'),
    revocationJournal: readPath(env, 'LATCHKEY_REVOCATION_JOURNAL'),
    masterKey: given(env, 'LATCHKEY_MASTER_KEY'),
    masterKeyFile: given(env, 'LATCHKEY_MASTER_KEY_FILE'),
    previousMasterKey: given(env, 'LATCHKEY_PREVIOUS_MASTER_KEY'),
    previousMasterKeyFile: given(env, 'LATCHKEY_PREVIOUS_MASTER_KEY_FILE'),
    workers: readWhole(env, 'LATCHKEY_WORKERS', 1, 1, 128),
    drainSeconds: readWhole(env, 'LATCHKEY_DRAIN_SECONDS', 0, 0, 300),
    logLevel: readOneOf(env, 'LOG_LEVEL', 'info', LOG_LEVELS),
    appType: given(env, 'LATCHKEY_APP_TYPE') ?? 'api',
    appVersion: given(env, 'LATCHKEY_APP_VERSION') ?? packageVersion(),
    credentialHeader: credentialHeader?.toLowerCase(),
    jwt: readJwt(env),
    trustProxy: readProxies(env, 'LATCHKEY_TRUST_PROXY'),
    rateLimits: {
      perKey: readRate(env, 'LATCHKEY_RATE_LIMIT_KEY'),
      perAddress: readRate(env, 'LATCHKEY_RATE_LIMIT_ADDRESS'),
      failedPerAddress: readRate(env, 'LATCHKEY_RATE_LIMIT_FAILED'),
    },
  })
}

export function isPostgres(address: string): boolean {
  return /^postgres(ql)?:\/\//.test(address)
}

/** All four or none: a half-set identity provider would either let nobody in or everybody. */
function readJwt(env: Environment): JwtConfig | undefined {
  const names = [
    'LATCHKEY_JWT_JWKS',
    'LATCHKEY_JWT_ISSUER',
    'LATCHKEY_JWT_AUDIENCE',
    'LATCHKEY_JWT_ACCOUNT_CLAIM',
  ] as const
  const [jwks, issuer, audience, accountClaim] = names.map((name) => given(env, name))
  if (jwks && issuer && audience && accountClaim) return { jwks, issuer, audience, accountClaim }
  if (!jwks && !issuer && !audience && !accountClaim) return undefined
  throw new OperatorError(`Set all of ${names.join(', ')}, or none`)
}

function readRate(env: Environment, name: Setting): RateLimit | undefined {
  const text = given(env, name)
  if (text === undefined) return undefined
  const [, count, unit = ''] = /^([1-9][0-9]{0,5})\/([smh])$/.exec(text) ?? []
  const perMs = UNITS_MS[unit]
  if (perMs !== undefined) return { count: Number(count), perMs }
  throw new OperatorError(`${name} must be a number a second, minute or hour, such as 600/m, but is "${text}"`)
}

const PROXY_NAMES = ['loopback', 'linklocal', 'uniquelocal']

function readProxies(env: Environment, name: Setting): readonly string[] {
  const proxies = (given(env, name) ?? '').split(',').map((proxy) => proxy.trim())
  const wrong = proxies.find((proxy) => proxy !== '' && !PROXY_NAMES.includes(proxy) && !isNetwork(proxy))
  if (wrong === undefined) return proxies.filter((proxy) => proxy !== '')
  throw new OperatorError(
    `${name} must be addresses or networks of 1 bit or more, such as 10.0.0.1,10.1.0.0/16, but one is "${wrong}"`,
  )
}

/** Not of 0 bits: that would trust every caller's own X-Forwarded-For. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (most < 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= most)
}

/** An empty variable counts as unset: that is how service managers write "none". */
function given(env: Environment, name: Setting): string | undefined {
  const value = env[name]?.trim()
  return value === '' ? undefined : value
}

function readPath(env: Environment, name: Setting): string | undefined {
  const path = given(env, name)
  return path === undefined ? undefined : resolve(path)
}

function readWhole(env: Environment, name: Setting, fallback: number, min: number, max: number): number {
  const text = given(env, name)
  if (text === undefined) return fallback
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  throw new OperatorError(`${name} must be a whole number from ${min} to ${max}, but is "${text}"`)
}

function readOneOf(env: Environment, name: Setting, fallback: string, allowed: readonly string[]): string {
  const value = given(env, name) ?? fallback
  if (allowed.includes(value)) return value
  throw new OperatorError(`${name} must be one of ${allowed.join(', ')}, but is "${value}"`)
}

function readSwitch(env: Environment, name: Setting, fallback: 'on' | 'off'): boolean {
  return readOneOf(env, name, fallback, ['on', 'off']) === 'on'
}

export function packageVersion(): string {
  const file = join(import.meta.dirname, '..', 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
