// The settings, read from the environment and checked. Nothing else reads process.env.
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { OperatorError } from './tokens/model/errors.ts'
import { decodeText } from './tokens/model/fields.ts'
import { UNITS_MS } from './tokens/model/times.ts'
import type { RateLimit } from './tokens/trust/rate-limit.ts'
import { type Block, parseBlock } from './tokens/verify/addresses.ts'
import { looksLikeSetting, refuseUnknownSettings } from './unknown-settings.ts'

type Environment = Readonly<Record<string, string | undefined>>
type Parse<Value> = (text: string, name: string) => Value

interface Reader<Value> {
  readonly names: readonly string[]
  readonly read: (env: Environment) => Value
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']

const PUBLIC_URL = setting('LATCHKEY_PUBLIC_URL', originUrl)

/** Every setting, in the order in which they are checked. */
const READERS = {
  databaseUrl: setting('DATABASE_URL', postgresUrl),
  /** In lower case. */
  credentialHeader: setting('LATCHKEY_CREDENTIAL_HEADER', headerName),
  host: setting('HOST', asIs, '127.0.0.1'),
  port: setting('PORT', whole(0, 65_535), '3000'),
  /** Connections to PostgreSQL at most. */
  pgPool: setting('LATCHKEY_PG_POOL', whole(4, 1_000), '10'),
  /** Of a new store on PostgreSQL. */
  pgPartitions: setting('LATCHKEY_PG_PARTITIONS', whole(1, 64)),
  /** Off: a PostgreSQL schema that is not up to date is refused. */
  autoMigrate: setting('LATCHKEY_AUTO_MIGRATE', onOff, 'on'),
  /** A folder, or `off`. Default: in the data folder. */
  pgWitness: setting('LATCHKEY_PG_WITNESS', (text) => (text === 'off' ? text : resolve(text))),
  dataDir: setting('LATCHKEY_DATA_DIR', (text) => resolve(text), 'data'),
  /** Default: in the data folder. */
  revocationJournal: setting('LATCHKEY_REVOCATION_JOURNAL', (text) => resolve(text)),
  /** In base64. Takes precedence over the file. */
  masterKey: setting('LATCHKEY_MASTER_KEY', asIs),
  masterKeyFile: setting('LATCHKEY_MASTER_KEY_FILE', asIs),
  /** Needed as well while the master key is being rotated. */
  previousMasterKey: setting('LATCHKEY_PREVIOUS_MASTER_KEY', asIs),
  previousMasterKeyFile: setting('LATCHKEY_PREVIOUS_MASTER_KEY_FILE', asIs),
  /** Processes serving one port. */
  workers: setting('LATCHKEY_WORKERS', whole(1, 128), '1'),
  /** How long requests are still served after a stop signal, while /readyz reports that the server is not ready. */
  drainSeconds: setting('LATCHKEY_DRAIN_SECONDS', whole(0, 300), '0'),
  /** Where traces are sent, by OTLP over HTTP. */
  otlpEndpoint: setting('OTEL_EXPORTER_OTLP_ENDPOINT', serverUrl),
  otelServiceName: setting('OTEL_SERVICE_NAME', asIs, 'latchkey'),
  logLevel: setting('LOG_LEVEL', oneOf(LOG_LEVELS), 'info'),
  appType: setting('LATCHKEY_APP_TYPE', asIs, 'api'),
  appVersion: setting('LATCHKEY_APP_VERSION', asIs, packageVersion()),
  jwt: allOrNone({
    jwks: setting('LATCHKEY_JWT_JWKS', keySet),
    issuer: setting('LATCHKEY_JWT_ISSUER', asIs),
    audience: setting('LATCHKEY_JWT_AUDIENCE', asIs),
    accountClaim: setting('LATCHKEY_JWT_ACCOUNT_CLAIM', asIs),
  }),
  /** What the callers of the identity provider may do; everything without it. */
  jwtGrants: setting('LATCHKEY_JWT_GRANTS', asIs),
  /** The identity provider through which people sign in to the console. */
  oidc: allOrNone(
    {
      issuer: setting('LATCHKEY_OIDC_ISSUER', issuerUrl),
      clientId: setting('LATCHKEY_OIDC_CLIENT_ID', asIs),
      clientSecret: secret('LATCHKEY_OIDC_CLIENT_SECRET'),
      grants: setting('LATCHKEY_OIDC_GRANTS', asIs),
    },
    { publicUrl: PUBLIC_URL },
  ),
  /** The origin at which browsers reach this service. */
  publicUrl: PUBLIC_URL,
  /** Whether an e-mail address counts for grants where the provider does not say that it is verified. */
  trustEmail: setting('LATCHKEY_TRUST_EMAIL', onOff, 'off'),
  trustProxy: setting('LATCHKEY_TRUST_PROXY', proxies, ''),
  /** Networks that are not public, and that webhooks may lead to nevertheless. */
  webhookAllow: setting('LATCHKEY_WEBHOOK_ALLOW', blocks, ''),
  /** For commands: a server to ask instead of the local store, and an account key of it. */
  server: setting('LATCHKEY_SERVER', serverUrl),
  serverKey: setting('LATCHKEY_KEY', asIs),
  /** Where the contexts of the person who runs commands are. */
  configDir: configFolder(),
  /** Whether anybody may report a leaked credential, and those who sign their reports. */
  leakReports: setting('LATCHKEY_LEAK_REPORTS', onOff, 'off'),
  leakSources: setting('LATCHKEY_LEAK_SOURCES', leakSources, '[]'),
  rateLimits: group({
    perKey: setting('LATCHKEY_RATE_LIMIT_KEY', rate),
    perAddress: setting('LATCHKEY_RATE_LIMIT_ADDRESS', rate),
    failedPerAddress: setting('LATCHKEY_RATE_LIMIT_FAILED', rate),
  }),
}

type Readers = Readonly<Record<string, Reader<unknown>>>
type Values<All extends Readers> = { readonly [Key in keyof All]: ReturnType<All[Key]['read']> }
export type Config = Values<typeof READERS>

/** Other names that begin with LATCHKEY_ are refused, so that a misspelt one is not ignored. */
export const SETTINGS = Object.values(READERS).flatMap(({ names }) => names)

/** A folder in which somebody works must not decide where their keys and credentials are sent. */
const PERSONAL = ['LATCHKEY_SERVER', 'LATCHKEY_KEY', 'LATCHKEY_CONFIG_DIR']
const PERSONAL_ADVICE = 'Set it in the environment, or use `latchkey context`.'

/** What libraries read by themselves: pg and OpenTelemetry. */
const OF_LIBRARIES = /^(PG|OTEL_)/

/** Nothing else: `.env` files hold variables of other programs, and some decide whom this one trusts, as NODE_TLS_REJECT_UNAUTHORIZED. */
const isReadFromFile = (name: string) => SETTINGS.includes(name) || looksLikeSetting(name) || OF_LIBRARIES.test(name)

/** Variables that are set take precedence over a `.env` file in the current folder. */
export function readProcessConfig(): Config {
  // Into process.env: libraries read it, such as pg for PGPASSWORD, and workers inherit it.
  for (const [name, value] of Object.entries(readEnvFile(resolve('.env')))) {
    if (!isReadFromFile(name)) continue
    if (PERSONAL.includes(name)) throw new OperatorError(`${name} is not read from a .env file. ${PERSONAL_ADVICE}`)
    process.env[name] ??= value
  }
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
    // Not the whole message, which names the path: the command line would advise how to become the owner of the folder.
    const [reason] = message.split(', ', 1)
    throw new OperatorError(
      `${path} would be read for settings, but cannot be: ${reason}. Run this in another folder, or make that a file that ` +
        'the user who runs this may read.',
    )
  }
  const text = decodeText(bytes)
  if (text === undefined) throw new OperatorError(`${path} is read for settings, but is not UTF-8 text`)
  return parseEnv(text)
}

export function readConfig(env: Environment): Config {
  refuseUnknownSettings(env, SETTINGS)
  return Object.freeze(group(READERS).read(env))
}

function group<All extends Readers>(readers: All): Reader<Values<All>> {
  return {
    names: Object.values(readers).flatMap(({ names }) => names),
    read: (env) =>
      Object.fromEntries(Object.entries(readers).map(([key, { read }]) => [key, read(env)])) as Values<All>,
  }
}

function setting<Value>(name: string, parse: Parse<Value>): Reader<Value | undefined>
function setting<Value>(name: string, parse: Parse<Value>, fallback: string): Reader<Value>
function setting<Value>(name: string, parse: Parse<Value>, fallback?: string): Reader<Value | undefined> {
  return {
    names: [name],
    read(env) {
      // An empty variable counts as unset: service managers set one for "none".
      const text = env[name]?.trim() || fallback
      return text === undefined ? undefined : parse(text, name)
    },
  }
}

type AllSet<All extends Readers> = { readonly [Key in keyof All]: NonNullable<ReturnType<All[Key]['read']>> }

/** A half-configured identity provider would refuse, or accept, everybody. `also`: needed too, but may be set alone. */
function allOrNone<All extends Readers, Also extends Readers = Readers>(
  readers: All,
  also?: Also,
): Reader<AllSet<All & Also> | undefined> {
  const [own, whole] = [group(readers), group({ ...readers, ...also })]
  const isSet = (value: unknown) => value !== undefined
  return {
    names: own.names,
    read(env) {
      if (!Object.values(own.read(env)).some(isSet)) return undefined
      const values = whole.read(env)
      if (Object.values(values).every(isSet)) return values as never
      const needed = Object.values({ ...readers, ...also }).map((reader) => reader.names.join(' or '))
      throw new OperatorError(`Set all of ${needed.join(', ')}, or none`)
    },
  }
}

/** A secret itself, or the path of a file that has it; the file is read when it is needed. */
export type Secret = { readonly text: string } | { readonly file: string }

function secret(name: string): Reader<Secret | undefined> {
  const [direct, inFile] = [setting(name, (text) => ({ text })), setting(`${name}_FILE`, (file) => ({ file }))]
  return { names: [...direct.names, ...inFile.names], read: (env) => direct.read(env) ?? inFile.read(env) }
}

function asIs(text: string): string {
  return text
}

export function isPostgres(address: string): boolean {
  return /^postgres(ql)?:\/\//.test(address)
}

function postgresUrl(text: string): string {
  if (isPostgres(text)) return text
  throw new OperatorError('DATABASE_URL must begin with postgres://. Leave it unset for the embedded store.')
}

function headerName(text: string, name: string): string {
  if (!/^[A-Za-z0-9-]+$/.test(text)) throw new OperatorError(`${name} must be a header's name, such as X-Api-Key`)
  // The whole value is the credential, so with "Bearer " before it nothing would match.
  if (text.toLowerCase() !== 'authorization') return text.toLowerCase()
  throw new OperatorError(
    `${name} must be another header than Authorization, whose bearer credentials are always taken`,
  )
}

/** Of a parsed URL, so 127.1 is 127.0.0.1, and [0::1] is [::1]. */
const LOOPBACK = /^(([^.]+\.)*localhost|127(\.\d+){3}|\[::1\])$/

/** The one rule for plain HTTP: between two machines, others can read keys and forge answers. Within this machine nobody can. */
export function isPlainHttp(text: string): boolean {
  const url = URL.parse(text)
  return url?.protocol === 'http:' && !LOOPBACK.test(url.hostname)
}

function issuerUrl(text: string, name: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '') && !isPlainHttp(text)) return text
  throw new OperatorError(`${name} must begin with https://, as the identity provider's own configuration states it`)
}

/** The address of a key set, or the path of a file. */
function keySet(text: string, name: string): string {
  if (!isPlainHttp(text)) return text
  throw new OperatorError(`${name} must begin with https://, or be the path of a file`)
}

function originUrl(text: string, name: string): string {
  const url = URL.parse(text)
  const isOrigin = url !== null && /^https?:$/.test(url.protocol) && text.replace(/\/$/, '') === url.origin
  if (isOrigin) return url.origin
  throw new OperatorError(
    `${name} must be where browsers reach this service, without a path, such as https://tokens.example.com`,
  )
}

/** May have a path, where a proxy serves Latchkey below one. The message does not repeat it: it may hold a password. */
export function serverUrl(text: string, name: string): string {
  const url = URL.parse(text)
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && !/[@?#]/.test(text)
  if (isPlain) return url.href.replace(/\/+$/, '')
  throw new OperatorError(
    `${name} must be an address such as https://tokens.example.com, without a user name or a query`,
  )
}

/** As the XDG specification has it. */
function configFolder(): Reader<string> {
  const [own, ofAll] = [setting('LATCHKEY_CONFIG_DIR', asIs), setting('XDG_CONFIG_HOME', asIs)]
  const read = (env: Environment) => own.read(env) ?? join(ofAll.read(env) ?? join(homedir(), '.config'), 'latchkey')
  return { names: own.names, read: (env) => resolve(read(env)) }
}

function whole(min: number, max: number): Parse<number> {
  return (text, name) => {
    const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    throw new OperatorError(`${name} must be a whole number from ${min} to ${max}, but is "${text}"`)
  }
}

function oneOf(allowed: readonly string[]): Parse<string> {
  return (text, name) => {
    if (allowed.includes(text)) return text
    throw new OperatorError(`${name} must be one of ${allowed.join(', ')}, but is "${text}"`)
  }
}

function onOff(text: string, name: string): boolean {
  return oneOf(['on', 'off'])(text, name) === 'on'
}

const GITHUB = {
  keyIdHeader: 'Github-Public-Key-Identifier',
  signatureHeader: 'Github-Public-Key-Signature',
  keysUrl: 'https://api.github.com/meta/public_keys/secret_scanning',
}

type LeakSource = Readonly<Record<'name' | 'keyIdHeader' | 'signatureHeader', string>> &
  ({ readonly keysUrl: string } | { readonly keysFile: string })

function leakSources(text: string, name: string): readonly LeakSource[] {
  let list: unknown
  try {
    list = JSON.parse(text)
  } catch {
    // It is refused below.
  }
  const sources = Array.isArray(list) ? list.map(leakSource) : [undefined]
  const all = sources.filter((source) => source !== undefined)
  if (all.length === sources.length && new Set(all.map((each) => each.name)).size === all.length) return all
  throw new OperatorError(
    `${name} must be JSON such as [{"name":"github"},{"name":"other","keyIdHeader":"X-Key","signatureHeader":"X-Signature",` +
      '"keysUrl":"https://…"}], with keysUrl or keysFile, and https:// unless it is this machine',
  )
}

/** Undefined for what is incomplete, or has an unknown field. */
function leakSource(value: unknown): LeakSource | undefined {
  const given = (value ?? {}) as Readonly<Record<string, unknown>>
  const { keysUrl, ...named } = given.name === 'github' ? GITHUB : { keysUrl: undefined }
  const source: Readonly<Record<string, unknown>> = {
    ...named,
    ...(given.keysFile === undefined && { keysUrl }),
    ...given,
  }
  const fields = Object.entries(source).filter(([, field]) => field !== undefined)
  const known = ['name', 'keyIdHeader', 'signatureHeader', source.keysFile === undefined ? 'keysUrl' : 'keysFile']
  const isComplete = known.every((field) => typeof source[field] === 'string' && source[field] !== '')
  if (!isComplete || fields.length !== known.length || !/^[a-z0-9-]+$/.test(String(source.name))) return undefined
  if (source.keysFile === undefined && (isPlainHttp(String(source.keysUrl)) || !isHttp(String(source.keysUrl))))
    return undefined
  return Object.fromEntries(fields) as unknown as LeakSource
}

const isHttp = (text: string) => /^https?:$/.test(URL.parse(text)?.protocol ?? '')

function rate(text: string, name: string): RateLimit {
  const [, count, unit = ''] = /^([1-9][0-9]{0,5})\/([smh])$/.exec(text) ?? []
  const perMs = UNITS_MS[unit]
  if (perMs !== undefined) return { count: Number(count), perMs }
  throw new OperatorError(`${name} must be a number a second, minute or hour, such as 600/m, but is "${text}"`)
}

const NAMED_NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

function proxies(text: string, name: string): readonly string[] {
  const list = text.split(',').map((proxy) => proxy.trim())
  const networks = list.filter((proxy) => proxy !== '').flatMap((proxy) => NAMED_NETWORKS[proxy] ?? proxy)
  const wrong = networks.find((network) => !isNetwork(network))
  if (wrong === undefined) return networks
  throw new OperatorError(
    `${name} must be addresses or networks of 1 bit or more, such as 10.0.0.1,10.1.0.0/16, but one is "${wrong}"`,
  )
}

function blocks(text: string, name: string): readonly Block[] {
  const list = text.split(',').map((block) => block.trim())
  return list
    .filter((block) => block !== '')
    .map((written) => {
      const block = parseBlock(written)
      if (typeof block !== 'string') return block
      throw new OperatorError(`${name} must be networks such as 10.1.0.0/16,fd00::/8, but "${written}" ${block}`)
    })
}

/** Refuses networks of 0 bits, which would trust every caller's own X-Forwarded-For. */
function isNetwork(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
  if (maxBits < 0 || more.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= maxBits)
}

export function packageVersion(): string {
  const file = join(import.meta.dirname, '..', 'package.json')
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
