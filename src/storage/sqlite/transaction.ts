// One transaction of the writer. Totals and the heads of history chains, which its changes share, are collected here and written
// once, before the commit.

import {
  type Continuation,
  type HistoryEvent,
  headStamp,
  isGenuineHead,
  keptRequest,
  NO_ROWS,
  nextRow,
  type Origin,
} from '../../tokens/history/history.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { HISTORY, IDEMPOTENCY_KEYS } from '../../tokens/model/tables.ts'
import type { Status, TokenRecord } from '../../tokens/model/token.ts'
import type { Revocation } from '../../tokens/trust/revocations.ts'
import type { Stamps } from '../../tokens/trust/vault.ts'
import { insertion } from './sql/insertion.ts'
import type { Connection } from './sqlite-connection.ts'

const insertHistory = insertion(HISTORY)
const insertRequest = insertion(IDEMPOTENCY_KEYS)

type Counted = Pick<TokenRecord, 'accountId' | 'subAccountId' | 'status'>

export class Transaction {
  readonly db: Connection
  readonly stamps: Stamps
  /** The next line of the journal. */
  readonly revocations: Revocation[] = []
  /** How many names it has added to the search index or removed from it. */
  indexed = 0
  /** By account. */
  readonly #heads = new Map<string, Continuation>()
  readonly #decided = new Set<string>()
  /** By how much the totals of each account and sub-account have changed. */
  readonly #counts = new Map<string, Record<Status, number>>()
  readonly #accountNumbers = new Map<string, number>()

  constructor(db: Connection, stamps: Stamps) {
    this.db = db
    this.stamps = stamps
  }

  accountNumber(accountId: string): number {
    const known = this.#accountNumbers.get(accountId) ?? accountNumber(this.db, accountId)
    this.#accountNumbers.set(accountId, known)
    return known
  }

  count({ accountId, subAccountId, status }: Counted, by: 1 | -1): void {
    this.#countIn(accountId, status, by)
    this.#countIn(subAccountId, status, by)
  }

  #countIn(scope: string, status: Status, by: 1 | -1): void {
    let counts = this.#counts.get(scope)
    if (counts === undefined) {
      counts = { active: 0, inactive: 0 }
      this.#counts.set(scope, counts)
    }
    if (status === 'active') counts.active += by
    else counts.inactive += by
  }

  /** Appends to the chain of the event's account. `decides`: what verifiers remember may be wrong after this. */
  record(event: HistoryEvent, origin: Origin, decides: boolean): void {
    const { accountId, action } = event
    const head = this.#heads.get(accountId) ?? (action === 'account.create' ? NO_ROWS : this.#readHead(accountId))
    const row = nextRow(event, origin, head, this.stamps)
    insertHistory(this.db, row)
    if (decides) this.#decided.add(accountId)
    const request = keptRequest(event, origin)
    if (request !== undefined) insertRequest(this.db, request)
    this.#heads.set(accountId, { ...head, seq: row.seq, last: row.stamp })
  }

  #readHead(accountId: string): Continuation {
    const [seq = 0, last = NO_ROWS.last, stamp = new Uint8Array()] =
      this.db.tuple<[number, Uint8Array, Uint8Array]>(
        'SELECT seq, last, stamp FROM history_heads WHERE account_id = ?',
        accountId,
      ) ?? []
    if (isGenuineHead({ accountId, seq, last, stamp }, this.stamps)) return { seq, last }
    const row = this.db.tuple<[number, Uint8Array]>(
      'SELECT seq, stamp FROM history WHERE account_id = ? ORDER BY seq DESC LIMIT 1',
      accountId,
    )
    return { ...(row === undefined ? NO_ROWS : { seq: row[0], last: row[1] }), wrongStamp: stamp }
  }

  /** Writes what was collected. Must be called before the commit. */
  settle(): void {
    for (const [scope, { active, inactive }] of this.#counts) {
      this.db.run(
        `INSERT INTO token_counts (scope, status, count) VALUES (?1, 'active', ?2), (?1, 'inactive', ?3)
         ON CONFLICT DO UPDATE SET count = count + excluded.count`,
        ...[scope, active, inactive],
      )
    }
    for (const [accountId, { seq, last, wrongStamp }] of this.#heads) {
      this.db.run(
        `INSERT INTO history_heads (account_id, seq, last, stamp) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET seq = excluded.seq, last = excluded.last, stamp = excluded.stamp`,
        ...[accountId, seq, last, wrongStamp ?? headStamp(accountId, seq, last, this.stamps)],
      )
    }
    for (const accountId of this.#decided) {
      this.db.run(
        'UPDATE history_heads SET decided = (SELECT max(no) FROM history) WHERE account_id = ?',
        ...[accountId],
      )
    }
    this.forget()
  }

  /** For a change that is rolled back: what it has collected must not be written. */
  forget(): void {
    this.#counts.clear()
    this.#heads.clear()
    this.#decided.clear()
  }
}

export function accountNumber(db: Connection, accountId: string): number {
  const account = db.tuple<[number]>('SELECT no FROM accounts WHERE id = ?', accountId)
  if (account === undefined) throw new Failure('account-not-found')
  return account[0]
}
