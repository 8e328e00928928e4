// What every call of the PostgreSQL engine goes through: a pool of connections for each kind, the check of the primary, and the
// transaction of a change. Knows no capability.
import { failure } from '../../tokens/model/errors.ts'
import type { RequestScope } from '../../tokens/service/store.ts'
import type { Stamps } from '../../tokens/trust/vault.ts'
import { CHANGES, type Changes, WRITES, type Writes } from '../changes/all.ts'
import { type Change, turnOf } from '../changes/change.ts'
import { QUESTIONS } from '../questions/all.ts'
import { methodsOf } from '../questions/question.ts'
import type { Lineage } from './lineage/lineage.ts'
import type { Transact } from './memory/grouped.ts'
import { BEGIN_CHANGE, type Pool, requestScope } from './pool.ts'
import type { Connection, Work } from './postgres-connection.ts'
import type { PrimaryCheck } from './primary-check.ts'
import type { Transaction } from './sql/history.ts'
import { type Made, makeChange } from './sql/make-changes.ts'
import { postgresReads } from './sql/reads.ts'
import { writes } from './sql/writes.ts'

/**
 * Each kind of call has its own connections, so that none delays another. Verification includes all authentication; short
 * reads use an index; long reads are searches, deep pages, histories and overviews; changes may all wait for a standby.
 */
export type PoolKind = 'verification' | 'shortReads' | 'longReads' | 'changes'

export type Pools = Readonly<Record<PoolKind, Pool>>

type Args = readonly never[]
type Method = (...args: Args) => Promise<unknown>

/** For calls that are not for one request: not dropped with it, nor by its deadline. */
const outsideRequests =
  (call: Method): Method =>
  (...args) =>
    requestScope.exit(() => call(...args))

export class PostgresEngine {
  readonly pools: Pools
  readonly stamps: Stamps
  readonly isPartitioned: boolean
  readonly #primary: PrimaryCheck
  readonly #lineage: Lineage | undefined

  constructor(
    pools: Pools,
    primary: PrimaryCheck,
    lineage: Lineage | undefined,
    stamps: Stamps,
    isPartitioned: boolean,
  ) {
    this.pools = pools
    this.stamps = stamps
    this.isPartitioned = isPartitioned
    this.#primary = primary
    this.#lineage = lineage
  }

  /** Those that ask the questions of the store. */
  questions() {
    const reads = postgresReads(this.isPartitioned)
    const ask = (name: string) =>
      reads[name as keyof typeof reads] as (db: Connection, ...args: Args) => Promise<unknown>
    const identity = (name: string): Method => this.identity(ask(name))
    return methodsOf(QUESTIONS, {
      identity,
      current: (name) => outsideRequests(identity(name)),
      short: (name) => {
        const read = ask(name)
        return (...args) => this.short((db) => read(db, ...args))
      },
      long: (name, { account }) => {
        const read = ask(name)
        return (...args) => this.long(account(...args), (db) => read(db, ...args))
      },
      upkeep: (name, { account }) => {
        const read = ask(name)
        const long = outsideRequests((...args) => this.long(account(...args), (db) => read(db, ...args)))
        return async (...args) => {
          this.#requireOpen()
          return long(...args)
        }
      },
    })
  }

  changes(): Changes & Writes {
    const changes = Object.entries(CHANGES).map(([name, ask]) => [
      name,
      (...args: Args) => {
        const change = (ask as (...args: Args) => Change<unknown>)(...args)
        const make = () =>
          this.settled(() => this.#inTurn(turnOf(change), (transaction) => makeChange(transaction, change)))
        return change.isShared ? requestScope.exit(make) : make()
      },
    ])
    const others = Object.entries(WRITES).map(([name, { turn, isShared }]) => {
      const write = writes[name as keyof typeof writes] as (transaction: Transaction, ...args: Args) => Promise<unknown>
      const call: Method = async (...args) => {
        this.#primary.throwIfRefused()
        return this.#inTurn((turn as (...args: Args) => string)(...args), (transaction) => write(transaction, ...args))
      }
      return [name, isShared ? outsideRequests(call) : call]
    })
    return Object.fromEntries([...changes, ...others]) as Changes & Writes
  }

  /** Of a few rows by an index, while the server has shown that it is the primary. Many of them share one round trip. */
  identity<Asked extends readonly unknown[], Value>(read: (db: Connection, ...args: Asked) => Promise<Value>) {
    return async (...args: Asked): Promise<Value> => {
      this.#primary.throwIfRefused()
      return this.pools.verification.ask(this.#primary.guard((db) => read(db, ...args)))
    }
  }

  /** The same of any server. */
  async short<Value>(work: Work<Value>): Promise<Value> {
    this.#requireOpen()
    return this.pools.shortReads.ask(work)
  }

  /** On its own connection, for which accounts take turns. */
  async long<Value>(account: string, work: Work<Value>): Promise<Value> {
    this.#requireOpen()
    return this.pools.longReads.lend(account, work)
  }

  during = <Result>({ waitedMs, isGone }: RequestScope, work: () => Result) =>
    requestScope.run({ begunAt: performance.now() - waitedMs, isGone }, work)

  async close(): Promise<void> {
    await this.#primary.close()
    await Promise.all(Object.values(this.pools).map((pool) => pool.close()))
    await this.#lineage?.close()
  }

  readonly transact: Transact = (db, work) => {
    const bare = { db, stamps: this.stamps }
    return (
      this.#lineage?.change(db, BEGIN_CHANGE, (raise) => work({ ...bare, raise })) ??
      db.transaction(BEGIN_CHANGE, () => work(bare))
    )
  }

  /**
   * A change that takes access away is answered when this process can recognise a database without what was taken away. So is a refusal:
   * what was not found may have been taken away by a change that could not be kept.
   */
  async settled<Answer>(make: () => Promise<Made<Answer>>): Promise<Answer> {
    this.#primary.throwIfRefused()
    const outcome = await make().catch(async (error) => {
      await this.#settle()
      throw error
    })
    if (outcome.takesAccess) await this.#settle()
    return outcome.answer
  }

  async #settle(): Promise<void> {
    await this.#lineage?.settle().catch((error) => {
      throw failure('outcome-unknown', error)
    })
  }

  #inTurn<Value>(turn: string, work: (transaction: Transaction) => Promise<Value>): Promise<Value> {
    return this.pools.changes.lend(turn, (db) => this.transact(db, work))
  }

  /** While requests are refused, the operator can still read. */
  #requireOpen(): void {
    if (requestScope.getStore() !== undefined) this.#primary.throwIfRefused()
  }
}
