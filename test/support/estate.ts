// A real server on a real store, with two accounts that must never see each other.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before } from 'node:test'
import pino from 'pino'
import type { Latchkey } from '../../src/compose.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import type { SubAccount, Token } from '../../src/tokens/model/token.ts'
import type { BulkToken } from '../../src/tokens/service/operator.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { type Ask, bearer, closeConnections, type Heard, send } from './http.ts'

/** What makes an empty store of one engine: variables for the configuration, and how to end it. */
export interface Engine {
  readonly name: string
  /** With this master key, or one of its own. */
  prepare(masterKey?: string): Promise<Prepared>
}

export interface Prepared {
  readonly env: Readonly<Record<string, string>>
  /** Everything the engine has put on disk, as it lies there. */
  readAtRest(): Promise<readonly Buffer[]>
  dispose(): Promise<void>
}

export const sqliteEngine: Engine = {
  name: 'embedded',
  async prepare() {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
    return {
      env: { LATCHKEY_DATA_DIR: folder },
      readAtRest: async () => readdirSync(folder).map((file) => readFileSync(join(folder, file))),
      dispose: async () => rmSync(folder, { recursive: true, force: true }),
    }
  },
}

export interface Tenant {
  readonly accountId: string
  readonly key: string
  readonly expiredKey: string
  readonly revokedKey: string
  readonly subAccounts: readonly [SubAccount, SubAccount, SubAccount]
}

export class Estate {
  readonly running: RunningServer & Latchkey
  readonly config: Config
  readonly mine: Tenant
  readonly theirs: Tenant
  /** Everything the server logged, at the most talkative level. */
  readonly logged: readonly string[]
  /** Every credential and account key that this estate has known. */
  readonly secrets = new Set<string>()
  readonly #prepared: Prepared
  #names = 0
  #lastAt = 0

  private constructor(
    running: RunningServer & Latchkey,
    config: Config,
    tenants: readonly [Tenant, Tenant],
    logged: readonly string[],
    prepared: Prepared,
  ) {
    this.running = running
    this.config = config
    this.mine = tenants[0]
    this.theirs = tenants[1]
    this.logged = logged
    this.#prepared = prepared
    for (const { key, expiredKey, revokedKey } of tenants)
      for (const each of [key, expiredKey, revokedKey]) this.secrets.add(each)
  }

  static async open(engine: Engine, more: Readonly<Record<string, string>> = {}, now?: () => number): Promise<Estate> {
    const prepared = await engine.prepare(more.LATCHKEY_MASTER_KEY)
    const config = readConfig({ PORT: '0', LATCHKEY_APP_VERSION: '9.9.9', ...prepared.env, ...more })
    const logged: string[] = []
    const stream = new PassThrough().on('data', (chunk) => void logged.push(String(chunk)))
    const log = pino({ level: 'trace' }, stream)
    const running = await startServer(config, now === undefined ? { log } : { log, now })
    const tenants = [await makeTenant(running, 'Mine'), await makeTenant(running, 'Theirs')] as const
    return new Estate(running, config, tenants, logged, prepared)
  }

  get url(): string {
    return this.running.url
  }

  ask(ask: Ask): Promise<Heard> {
    return send(this.url, ask)
  }

  /** As the account's own caller. */
  mineAsks(ask: Ask): Promise<Heard> {
    return send(this.url, { ...ask, headers: [bearer(this.mine.key), ...(ask.headers ?? [])] })
  }

  freshName(): string {
    return `Name ${++this.#names}`
  }

  /** Not read back: the server remembers nothing of it yet. */
  async token(fields: Partial<BulkToken> = {}, owner: Tenant = this.mine): Promise<Token> {
    // Later than the one before: the order of those of one millisecond is random.
    this.#lastAt = Math.max(this.running.operator.origin().at, this.#lastAt + 1)
    const { credential = newCredential('tok'), subAccountId = owner.subAccounts[0].id } = fields
    const made = { accountId: owner.accountId, name: this.freshName(), createdAt: this.#lastAt }
    const created = { ...made, ...fields, subAccountId, credential }
    const [record] = await this.running.operator.createTokens([created])
    const subAccount = owner.subAccounts.find(({ id }) => id === subAccountId) ?? owner.subAccounts[0]
    if (record === undefined) throw new Error('no token was made')
    this.secrets.add(credential)
    return { ...record, credential, subAccount, credentialUnreadable: false }
  }

  /** Where a secret must never be: the log and the disk. */
  async whereSecretsLie(): Promise<readonly string[]> {
    const disk = await this.#prepared.readAtRest()
    // One pass for all of them: a server can have hundreds of megabytes at rest.
    const text = (bytes: Buffer) => bytes.toString('latin1')
    const secret = new RegExp([...this.secrets].map((each) => RegExp.escape(text(Buffer.from(each)))).join('|'), 'g')
    const find = (bytes: Buffer, where: string) =>
      text(bytes)
        .match(secret)
        ?.map((each) => `${each} ${where}`) ?? []
    const found = [
      find(Buffer.from(this.logged.join('')), 'in the log'),
      ...disk.map((bytes) => find(bytes, 'at rest')),
    ]
    return [...new Set(found.flat())]
  }

  async close(): Promise<void> {
    await this.running.stop()
    await this.#prepared.dispose()
  }
}

/** An estate for all tests of the file or block: opened before them, closed after them. */
export function openedBefore(...given: Parameters<typeof Estate.open>): Estate {
  let estate: Estate | undefined
  before(async () => {
    estate = await Estate.open(...given)
  })
  after(async () => {
    closeConnections()
    await estate?.close()
  })
  const get = (_: object, name: string) => {
    const value: unknown = Reflect.get(estate ?? {}, name)
    return typeof value === 'function' ? value.bind(estate) : value
  }
  return new Proxy({}, { get }) as Estate
}

async function makeTenant({ operator }: Latchkey, name: string): Promise<Tenant> {
  const { id: accountId } = await operator.createAccount(name)
  const { key } = await operator.createKey(accountId, 'works', null)
  const expired = await operator.createKey(accountId, 'expired', operator.origin().at - 1)
  const revoked = await operator.createKey(accountId, 'revoked', null)
  await operator.revokeKey(revoked.id)
  const subAccounts = await operator.createSubAccounts(
    accountId,
    ['One', 'Two', 'Empty'].map((each) => ({
      name: `${name} ${each}`,
      email: `${each.toLowerCase()}@${name.toLowerCase()}.example`,
      companyName: `${name} ${each} Ltd`,
    })),
  )
  const [one, two, empty] = subAccounts
  if (!one || !two || !empty) throw new Error('sub-accounts are missing')
  return { accountId, key, expiredKey: expired.key, revokedKey: revoked.key, subAccounts: [one, two, empty] }
}
