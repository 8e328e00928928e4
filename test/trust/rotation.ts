// Rotations of the master key while a server is being asked and told things, each of them killed some times on its way.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { openKeyRing } from '../../src/master-key.ts'
import { TOKENS } from '../../src/tokens/model/tables.ts'
import { keyIdOf } from '../../src/tokens/trust/vault.ts'
import { Cli } from '../support/cli.ts'
import { bearer, send } from '../support/http.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'

type Environment = Readonly<Record<string, string>>

/** A store of either engine, and what its operator does before and after a rotation. */
export interface World {
  readonly cli: Cli
  readonly env: Environment
  /** Whether the service looks after the keys itself, and a rotation ends with the old one forgotten. */
  readonly keepsKeys: boolean
  giveNewKey(): void
  takeOldKeys(): void
  close(): Promise<void>
}

export async function embeddedWorld(): Promise<World> {
  const cli = new Cli()
  const env = { LATCHKEY_DATA_DIR: cli.dataDir }
  return { cli, env, keepsKeys: true, giveNewKey() {}, takeOldKeys() {}, close: async () => cli.dispose() }
}

/** The operator looks after the keys, in a file that every instance is given. */
export async function postgresWorld(): Promise<World> {
  const [cli, server] = [new Cli(), await sharedServer()]
  const database = await emptyDatabase(server)
  const file = join(cli.dataDir, 'keys')
  const put = (lines: readonly string[]) => {
    writeFileSync(`${file}.new`, `${lines.join('\n')}\n`)
    renameSync(`${file}.new`, file)
  }
  const lines = () => readFileSync(file, 'utf8').trim().split('\n')
  const newKey = () => randomBytes(32).toString('base64')
  put([newKey()])
  return {
    cli,
    env: { DATABASE_URL: server.url(database), LATCHKEY_MASTER_KEY_FILE: file },
    keepsKeys: false,
    giveNewKey: () => put([newKey(), ...lines()]),
    takeOldKeys: () => put(lines().slice(0, 1)),
    async close() {
      cli.dispose()
      await server.query('postgres', `DROP DATABASE "${database}" WITH (FORCE)`)
    },
  }
}

const TOKEN = '/api/v1/apiClient/token'
/** The load makes tokens, renames them, switches them, rotates their credentials, and reads all of it back. */
const CALLERS = 3
/** Leaves the machine some time for the rotation itself. */
const PAUSE_MS = 5

/** What callers were told last, and what they were told that was not so. */
class Load {
  readonly #url: string
  readonly #callers: readonly CallersEstate[]
  readonly credentials: Map<string, string>
  readonly problems: string[] = []
  requests = 0
  #going = true
  #names = 0

  constructor(url: string, callers: readonly CallersEstate[]) {
    this.#url = url
    this.#callers = callers
    this.credentials = new Map(callers.flatMap(({ credentials }) => [...credentials]))
  }

  /** For as long as `work` takes. */
  async while(work: () => Promise<void>): Promise<void> {
    const calling = this.#callers.map((caller) => this.#call(caller))
    try {
      await work()
    } finally {
      this.#going = false
      await Promise.all(calling)
    }
  }

  async #call({ key, subAccountId, credentials }: CallersEstate): Promise<void> {
    const own = [...credentials.keys()]
    for (let turn = 0; this.#going; turn++) {
      const id = own[(turn * 7) % own.length] ?? ''
      const path = `${TOKEN}/${id}`
      const asks: readonly (() => Promise<unknown>)[] = [
        async () => {
          const made = await this.#ask(key, 'POST', TOKEN, 201, { subAccountId, name: this.#name() })
          if (made === undefined) return
          own.push(made._id)
          this.credentials.set(made._id, made.token)
        },
        () => this.#ask(key, 'PUT', path, 200, { status: turn % 2 === 0 ? 'inactive' : 'active' }),
        async () => {
          const rotated = await this.#ask(key, 'POST', `${path}/rotate`, 200, {})
          if (rotated !== undefined) this.credentials.set(id, rotated.token)
        },
        async () => {
          const page = await this.#ask(key, 'GET', `${TOKEN}?limit=20&page=${(turn % 20) + 1}`, 200)
          for (const { _id, token } of page?.items ?? []) this.#compare(_id, token)
        },
        () => this.#ask(key, 'PUT', path, 200, { name: this.#name() }),
        async () => this.#compare(id, (await this.#ask(key, 'GET', path, 200))?.token),
      ]
      await asks[turn % asks.length]?.()
      await pause(PAUSE_MS)
    }
  }

  #name(): string {
    return `Load ${++this.#names}`
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  async #ask(key: string, method: string, path: string, wanted: number, body?: object): Promise<any> {
    const ask = { method, path, headers: [bearer(key)], ...(body === undefined ? {} : { body }) }
    const heard = await send(this.#url, ask).catch((error: Error) => ({ status: 0, text: error.message, json: {} }))
    this.requests++
    if (heard.status === wanted) return heard.json.data
    this.problems.push(`${method} ${path.replace(/\?.*/, '')}: ${heard.status} ${heard.text}`)
    return undefined
  }

  #compare(id: string, credential: string): void {
    if (this.credentials.get(id) !== credential) this.problems.push(`${id} has another credential than it was given`)
  }
}

/** An account of its own, so that callers do not wait for each other. */
interface CallersEstate {
  readonly key: string
  readonly subAccountId: string
  readonly credentials: ReadonlyMap<string, string>
}

async function makeEstates(env: Environment, tokens: number): Promise<readonly CallersEstate[]> {
  const latchkey = await openLatchkey(readConfig(env))
  const estates: CallersEstate[] = []
  for (let n = 0; n < CALLERS; n++) estates.push(await makeEstate(latchkey, `caller-${n}`, Math.ceil(tokens / CALLERS)))
  await latchkey.store.close()
  return estates
}

async function makeEstate({ operator }: Latchkey, name: string, tokens: number): Promise<CallersEstate> {
  const { id: accountId } = await operator.createAccount(name)
  const { key } = await operator.createKey(accountId, 'test', null)
  const [owner] = await operator.createSubAccounts(accountId, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
  const subAccountId = owner?.id ?? ''
  const made = Array.from({ length: tokens }, (_, n) => `credential-of-${name}-number-${n}`)
  const records = await operator.createTokens(
    made.map((credential) => ({ accountId, subAccountId, name: credential, credential })),
  )
  return { key, subAccountId, credentials: new Map(records.map(({ id }, n) => [id, made[n] ?? ''])) }
}

export interface Outcome {
  readonly kills: number
  readonly rotations: number
  readonly requests: number
  readonly problems: readonly string[]
  readonly keys: readonly string[]
}

/** The arguments of killed-rotation.ts. */
export type Death = readonly [step: string, moment: 'under way' | 'answered']

/** One rotation for each list of deaths, which it dies in turn before it is let through. */
export async function rotateUnderLoad(
  world: World,
  tokens: number,
  deaths: readonly (readonly Death[])[],
): Promise<Outcome> {
  const { cli, env } = world
  const estates = await makeEstates(env, tokens)
  const server = cli.spawn(['serve'], { ...env, PORT: '0', LOG_LEVEL: 'error' })
  const load = new Load(await server.ready(), estates)
  const keys = [openKeyRing(readConfig(env)).first.id]
  let kills = 0
  await load.while(async () => {
    for (const each of deaths) {
      world.giveNewKey()
      const before = keys.at(-1) ?? ''
      for (const death of each) if (!(await isDone(world, before)) && (await dies(world, death))) kills++
      keys.push(await finish(world, before))
      world.takeOldKeys()
    }
  })
  server.kill('SIGTERM')
  assert.equal(await server.exited, 0)
  const logged = server.stdout.split('\n').filter((line) => line !== '' && !line.includes('is ready at'))
  await requireOpen(env, load.credentials)
  return { kills, rotations: deaths.length, requests: load.requests, problems: [...load.problems, ...logged], keys }
}

async function dies({ cli, env }: World, death: Death): Promise<boolean> {
  const killed = cli.spawnScript(join(import.meta.dirname, 'killed-rotation.ts'), env, death)
  const code = await killed.exited
  if (code !== null && code !== 0) throw new Error(`the rotation failed: ${killed.stderr}`)
  return code === null
}

/** One that was to die may have got to the end. */
async function isDone({ env, keepsKeys }: World, before: string): Promise<boolean> {
  const { live } = await look(env)
  const kept = keepsKeys ? openKeyRing(readConfig(env)).ids.length : 1
  return live.length === 1 && live[0] !== before && kept === 1
}

/** Runs the rotation to its end, and returns the key that seals now. */
async function finish(world: World, before: string): Promise<string> {
  const { cli, env } = world
  if (!(await isDone(world, before))) {
    const rotation = cli.spawn(['master-key', 'rotate', '--json'], env)
    assert.equal(await rotation.exited, 0, rotation.stderr)
    const { masterKey, retired } = JSON.parse(rotation.stdout)
    assert.deepEqual(retired, [before])
    assert.notEqual(masterKey, before)
  }
  const after = await look(env)
  assert.equal(after.live.length, 1)
  assert.deepEqual([...after.named], after.live, 'every credential is sealed with the one key that is left')
  return after.live[0] ?? ''
}

/** The keys that the store needs, by the vault and by what every credential names. */
async function look(env: Environment) {
  const { store } = await openLatchkey(readConfig(env))
  const live = (await store.readVault()).map(({ keyId }) => keyId)
  const rows = await store.readRows(TOKENS, undefined, 100_000)
  await store.close()
  return { live, named: new Set(rows.map(({ sealed }) => keyIdOf(sealed as Uint8Array))) }
}

/** Asked of the store itself, by a process that has the last key only. */
async function requireOpen(env: Environment, credentials: ReadonlyMap<string, string>): Promise<void> {
  assert.equal(openKeyRing(readConfig(env)).ids.length, 1)
  const { operator, registry, store } = await openLatchkey(readConfig(env))
  for (const [id, credential] of credentials) {
    const token = await registry.getToken(operator.actFor(await operator.getOwner(id)), id)
    assert.equal(token.credential, credential)
  }
  await store.close()
}

/** The positive control: what a server gets wrong that is given the old key only, and cannot look for another. */
export async function failsWithoutNewKey(): Promise<readonly string[]> {
  const { cli, env, close } = await embeddedWorld()
  try {
    const estates = await makeEstates(env, 10)
    const masterKey = readFileSync(join(cli.dataDir, 'master.key'), 'utf8').trim()
    const server = cli.spawn(['serve'], { ...env, PORT: '0', LOG_LEVEL: 'silent', LATCHKEY_MASTER_KEY: masterKey })
    const load = new Load(await server.ready(), estates)
    await load.while(async () => {
      assert.equal(await cli.spawn(['master-key', 'rotate'], env).exited, 0)
      while (load.problems.length === 0) await pause(PAUSE_MS)
    })
    return load.problems
  } finally {
    await close()
  }
}
