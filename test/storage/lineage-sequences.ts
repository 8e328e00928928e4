// Sequences of events on a real PostgreSQL, whose files are copied and put back under two instances: after each, no instance that
// could know of a revocation accepts what was revoked, and without a restore none refuses.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { acceptLoss } from '../../src/storage/postgres/lineage/accept.ts'
import { type OpenedStore, openPostgresStore, type PostgresOptions } from '../../src/storage/postgres/store.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { openEmptyPostgres } from '../support/postgres.ts'
import { copyData, PostgresServer } from '../support/postgres-server.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { credentialOf, Estate, updateToken } from '../support/store.ts'

const OF_A_PROCESS = ['change', 'begin', 'commit', 'repeat', 'end', 'start', 'loseFiles'] as const
const OF_ALL = ['backup', 'restore', 'accept'] as const
/** The same names as in lineage-world.ts. */
export type RealEvent = `${(typeof OF_A_PROCESS)[number]} ${0 | 1}` | (typeof OF_ALL)[number]
export const REAL_EVENTS: readonly RealEvent[] = [
  ...OF_ALL,
  ...OF_A_PROCESS.flatMap((each) => [`${each} 0`, `${each} 1`] as RealEvent[]),
]

const TOKENS = 8

const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    ({ code }: { code: string }) => code,
  )

/** Asks until the answer is another one than that the store cannot be reached. */
async function decided(ask: () => Promise<unknown>): Promise<string> {
  for (;;) {
    const code = await codeOf(ask())
    if (code !== 'unavailable' && code !== 'outcome-unknown') return code
    await wait(5)
  }
}

/** A stopped server with a store, from which every sequence begins. */
export interface Origin {
  readonly data: string
  readonly port: number
  readonly options: PostgresOptions
  readonly subAccount: SubAccount
  readonly tokens: readonly TokenRecord[]
}

export async function makeOrigin(): Promise<Origin> {
  const server = await PostgresServer.start()
  const opened = await openEmptyPostgres({}, server)
  const estate = new Estate(opened)
  const subAccount = await estate.subAccount(await estate.account())
  const tokens = await Array.fromAsync({ length: TOKENS }, (_, n) => estate.token(subAccount, `T${n}`))
  await opened.store.close()
  await server.stop()
  return { data: server.data, port: server.port, options: opened.options, subAccount, tokens }
}

interface Process {
  opened: OpenedStore | undefined
  readonly folder: string
  /** The tokens of which it knows, and of which the files in its folder say, that they were switched off. */
  readonly known: Set<number>
  readonly onDisk: Set<number>
  /** A change that was begun before a restore, and is tried from before the server is back. */
  begun: { readonly token: number; made: Promise<string> | undefined } | undefined
}

class RealWorld {
  readonly #origin: Origin
  readonly #root = temporaryFolder()
  readonly #processes: Process[]
  readonly #backups: string[] = []
  #server: PostgresServer
  #next = 0
  #at = Date.now()
  wasRestored = false

  constructor(origin: Origin, server: PostgresServer, isShared: boolean) {
    this.#origin = origin
    this.#server = server
    const onDisk = new Set<number>()
    this.#processes = [0, 1].map((p) => ({
      opened: undefined,
      folder: join(this.#root, isShared ? 'shared' : String(p)),
      known: new Set<number>(),
      onDisk: isShared ? onDisk : new Set<number>(),
      begun: undefined,
    }))
  }

  async start(process: Process): Promise<void> {
    for (const each of process.onDisk) process.known.add(each)
    process.opened ??= await openPostgresStore({ ...this.#origin.options, witness: process.folder, serves: true })
  }

  async startAll(): Promise<void> {
    for (const each of this.#processes) await this.start(each)
  }

  async happen(event: RealEvent): Promise<void> {
    const [name, p] = event.split(' ')
    if (p !== undefined) return this.#happenTo(this.#processes[Number(p)] as Process, name ?? '')
    if (name === 'accept') {
      for (const { folder, known, onDisk } of this.#processes) {
        await acceptLoss({ ...this.#origin.options, witness: folder })
        known.clear()
        onDisk.clear()
      }
      return
    }
    await this.#server.stop()
    const { data, port } = this.#server
    if (name === 'backup') this.#backups.push(this.#server.copyFiles())
    const saved = this.#backups[0]
    if (name === 'restore' && saved !== undefined) {
      this.wasRestored = true
      for (const each of this.#processes) {
        if (each.begun !== undefined && each.opened !== undefined)
          each.begun.made = this.#disable(each, each.begun.token)
      }
      this.#server = await PostgresServer.start({ data: copyData(saved), port })
      removeFolder(data)
    } else this.#server = await PostgresServer.start({ data, port })
  }

  async #happenTo(process: Process, name: string): Promise<void> {
    if (name === 'start') return this.start(process)
    if (name === 'loseFiles') {
      removeFolder(process.folder)
      mkdirSync(process.folder)
      return process.onDisk.clear()
    }
    if (name === 'end') {
      await process.begun?.made
      await process.opened?.store.close()
      process.opened = undefined
      process.begun = undefined
      return process.known.clear()
    }
    if (name === 'begin') process.begun = { token: this.#next++, made: undefined }
    else if (name === 'commit') {
      const { token, made } = process.begun ?? { token: 0, made: undefined }
      process.begun = undefined
      await (made ?? this.#disable(process, token))
    } else await this.#disable(process, name === 'repeat' ? Math.max(0, this.#next - 1) : this.#next++)
  }

  async #disable(process: Process, n: number): Promise<string> {
    const { accountId } = this.#origin.subAccount
    const { id = '' } = this.#origin.tokens[n] ?? {}
    const origin = () => ({ by: 'operator', at: ++this.#at, requestId: null, address: null }) as const
    const { store } = process.opened as OpenedStore
    const code = await decided(() => updateToken(store, accountId, id, { status: 'inactive' }, origin()))
    if (code !== 'answered') return code
    process.known.add(n)
    for (const each of process.known) process.onDisk.add(each)
    return code
  }

  /** Each process, started if it does not run: whether it refuses, and must. */
  async verify(): Promise<void> {
    await Promise.all(this.#processes.map(({ begun }) => begun?.made))
    // One that refuses tells the other: each is the first one in some sequences.
    const inTurn = this.#next % 2 === 0 ? this.#processes : this.#processes.toReversed()
    for (const process of inTurn) {
      await this.start(process)
      const owes = new Set([...process.known, ...process.onDisk])
      const { store } = process.opened as OpenedStore
      for (const n of owes) {
        const { digest } = this.#origin.tokens[n] as TokenRecord
        let found: Awaited<ReturnType<typeof store.findCandidate>>
        const code = await decided(async () => {
          found = await store.findCandidate(credentialOf(digest))
        })
        if (code === 'answered') assert.equal(found?.token.status, 'inactive', `token ${n} is accepted`)
        else assert.equal(code, 'revocations-unknown')
      }
      if (!this.wasRestored) assert.equal(await decided(() => store.ping()), 'answered')
    }
  }

  async close(): Promise<void> {
    for (const { opened } of this.#processes) await opened?.store.close()
    await this.#server.remove()
    for (const each of [this.#root, ...this.#backups]) removeFolder(each)
  }
}

export async function playForReal(origin: Origin, events: readonly RealEvent[], isShared: boolean): Promise<void> {
  const server = await PostgresServer.start({ data: copyData(origin.data), port: origin.port })
  const world = new RealWorld(origin, server, isShared)
  try {
    await world.startAll()
    for (const event of events) await world.happen(event)
    await world.verify()
  } catch (error) {
    throw new Error(`${isShared ? 'shared: ' : ''}${events.join(', ')}`, { cause: error })
  } finally {
    await world.close()
  }
}
