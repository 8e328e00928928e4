// What every call of the embedded engine goes through: short reads on the event loop, long reads on reader threads, all changes on
// a writer thread. Knows no capability.
import { randomBytes } from 'node:crypto'
import { Failure, failure } from '../../tokens/model/errors.ts'
import type { Stamps } from '../../tokens/trust/vault.ts'
import type { Damage, Revocations, StoreFiles } from '../../tokens/upkeep/ports.ts'
import { CHANGES, type Changes, WRITES, type Writes } from '../changes/all.ts'
import { QUESTIONS } from '../questions/all.ts'
import { methodsOf } from '../questions/question.ts'
import { type OpenedFile, requireNotMoved } from './files/files.ts'
import type { Recovery } from './journal/journal.ts'
import { Memory } from './memory/memory.ts'
import { reads } from './sql/reads.ts'
import { type Connection, translateError } from './sqlite-connection.ts'
import { isInRequest, type Readers } from './threads/readers.ts'
import type { RestartingThread } from './threads/restarting-thread.ts'

const RECHECK_MS = 1_000
/** As many as may wait for a reader thread. */
const MAX_CHANGES = 4_000

type Args = readonly never[]
type Method = (...args: Args) => Promise<unknown>

export class SqliteEngine implements StoreFiles, Revocations {
  readonly memory: Memory
  readonly stamps: Stamps
  readonly #db: Connection
  readonly #writer: RestartingThread
  readonly #readers: Readers
  readonly #watch: NodeJS.Timeout
  /** Why all requests are refused. */
  #refusal: Failure | undefined
  #checkedAt = performance.now()
  /** Sent to the writer and not answered. */
  #changes = 0
  readonly #serves: boolean
  #life: Promise<void> | undefined

  constructor(
    db: Connection,
    writer: RestartingThread,
    readers: Readers,
    stamps: Stamps,
    files: readonly OpenedFile[],
    serves: boolean,
  ) {
    this.#db = db
    this.#serves = serves
    this.stamps = stamps
    this.memory = new Memory(db, stamps)
    this.#writer = writer
    this.#readers = readers
    this.refuseIfObstructed(writer.recovery)
    // The writer checks before each commit; this check is for servers that only read.
    this.#watch = setInterval(() => this.#checkFiles(files), RECHECK_MS).unref()
  }

  /** Those that ask the questions of the store. */
  questions() {
    const ask = (name: string) => reads[name as keyof typeof reads] as (db: Connection, ...args: Args) => unknown
    const short = (name: string): Method => {
      const read = ask(name)
      return async (...args) => this.read(() => read(this.#db, ...args))
    }
    return methodsOf(QUESTIONS, {
      identity: (name) => {
        const read = ask(name)
        return this.identity((...args: Args) => read(this.#db, ...args))
      },
      current: short,
      short,
      long:
        (name, { account }) =>
        (...args) =>
          this.askReader(account(...args), name, args),
      upkeep:
        (name, { account }) =>
        async (...args) => {
          this.#requireOpen()
          return this.#readers.upkeep(account(...args), name, args)
        },
    })
  }

  changes(): Changes & Writes {
    const names = [...Object.keys(CHANGES), ...Object.keys(WRITES)]
    const methods = names.map((name) => [name, (...args: readonly unknown[]) => this.#askWriter(name, args)])
    return Object.fromEntries(methods) as Changes & Writes
  }

  /** Nobody is authenticated while the revocations are unknown. */
  identity<Asked extends readonly unknown[], Value>(find: (...args: Asked) => Value) {
    return async (...args: Asked): Promise<Value> => {
      if (this.#refusal !== undefined) await this.#requireRevocations()
      await this.memory.shareSnapshot()
      return this.read(() => find(...args))
    }
  }

  /**
   * What has to do with the positions of verifiers. A server begins a life of the store with the first such call, not with its start: a
   * start that fails changes nothing.
   */
  inLife<Asked extends readonly unknown[], Answer>(call: (...args: Asked) => Promise<Answer>) {
    return async (...args: Asked): Promise<Answer> => {
      if (this.#serves) await this.#begun()
      return call(...args)
    }
  }

  /** On the event loop. */
  read<Value>(work: () => Value): Value {
    this.#requireOpen()
    try {
      return work()
    } catch (error) {
      throw translateError(error)
    }
  }

  /** On a reader thread, in the turn of an account. */
  async askReader(accountId: string, name: string, args: readonly unknown[]): Promise<unknown> {
    this.#requireOpen()
    return this.#readers.ask(accountId, name, args)
  }

  /** Also requires that changes are possible, such as switching a token off. */
  async requireAlive(): Promise<void> {
    await this.#requireRevocations()
    this.#writer.requireAlive()
    await this.#readers.requireAlive()
  }

  readonly remedy = 'Put the journal back (LATCHKEY_REVOCATION_JOURNAL says where it is)'

  summary() {
    return Promise.resolve('none is missing')
  }

  async findObstacle() {
    await this.#requireRevocations().catch(() => {})
    return this.#refusal && ((this.#refusal.cause as Error | undefined) ?? this.#refusal).message
  }

  findDamage() {
    return this.#readers.upkeep('', 'findDamage', []) as Promise<Damage>
  }

  async close(): Promise<void> {
    clearInterval(this.#watch)
    await Promise.all([this.#writer.close(), this.#readers.close()])
    this.#db.close()
  }

  refuseIfObstructed({ obstacle }: Recovery): void {
    if (obstacle !== undefined) this.#refusal = failure('revocations-unknown', new Error(obstacle))
  }

  /** Checks again, once a second at most: the operator may have restored the journal or accepted its loss. */
  async #requireRevocations(): Promise<void> {
    if (this.#refusal === undefined) return
    const now = performance.now()
    if (now - this.#checkedAt < RECHECK_MS) throw this.#refusal
    this.#checkedAt = now
    await this.#askWriter('probe', [])
    this.#refusal = undefined
  }

  #begun(): Promise<void> {
    this.#life ??= (this.#askWriter('beginLife', [randomBytes(8).toString('hex')]) as Promise<void>).catch((error) => {
      this.#life = undefined
      throw error
    })
    return this.#life
  }

  async #askWriter(name: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#changes >= MAX_CHANGES) throw failure('unavailable', new Error('too many changes wait'))
    this.#changes++
    try {
      return await this.#writer.call(name, args)
    } catch (error) {
      this.#refuseIfLost(error)
      throw error
    } finally {
      this.#changes--
    }
  }

  #checkFiles(files: readonly OpenedFile[]): void {
    try {
      requireNotMoved(files)
    } catch (error) {
      this.#refuseIfLost(error)
    }
  }

  /** Files lost while the store is open have the same effect as files missing when it was opened. */
  #refuseIfLost(error: unknown): void {
    if (!(error instanceof Failure && error.code === 'revocations-unknown')) return
    this.#refusal = error
    this.memory.invalidateAll()
  }

  /** While requests are refused, the operator can still read. */
  #requireOpen(): void {
    if (this.#refusal !== undefined && isInRequest()) throw this.#refusal
  }
}
