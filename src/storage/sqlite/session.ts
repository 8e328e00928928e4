// One transaction of the writer. What its changes have in common, the totals and the ends of the chains of history, is
// gathered here and written once, before it is committed.
import { Failure } from '../../tokens/errors.ts'
import type { Status, Timestamp, TokenRecord } from '../../tokens/model/token.ts'
import { chainStampOfTexts, type HistoryEvent, headStamp, type Origin } from '../../tokens/record/history.ts'
import type { Revocation } from '../../tokens/trust/revocations.ts'
import type { Stamps } from '../../tokens/trust/vault.ts'
import type { Connection } from './connection.ts'

interface Head {
  readonly seq: number
  /** The stamp of the account's last row. */
  readonly last: Uint8Array
}

type Counted = Pick<TokenRecord, 'accountId' | 'subAccountId' | 'status'>

export class Session {
  readonly db: Connection
  readonly stamps: Stamps
  /** For the journal, which gets them before the commit. */
  readonly revocations: Revocation[] = []
  /** Tokens and sub-accounts that were switched on again, and when: the journal is told once that is certain. */
  readonly givenBack = new Map<string, Timestamp>()
  /** How many names it has written to the search index, or struck out of it. */
  indexed = 0
  /** Of the accounts to whose history something was added. */
  readonly #heads = new Map<string, Head>()
  /** By how much the totals of an account or a sub-account have changed. */
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

  /** Counts a token in or out. */
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

  /** Appends to the chain of the event's account. */
  record(event: HistoryEvent, origin: Origin): void {
    const { accountId, action, subject, subjectName, tokenId, from, to } = event
    const { at, by, byName = null, requestId, address } = origin
    const { seq: before, last } = this.#heads.get(accountId) ?? this.#readHead(accountId)
    const names = { byName, subjectName }
    const row = { accountId, seq: before + 1, at, by, ...names, action, subject, tokenId, requestId, address }
    const [fromText, toText] = [JSON.stringify(from), JSON.stringify(to)]
    const stamp = chainStampOfTexts(row, fromText, toText, last, this.stamps)
    this.db.run(
      `INSERT INTO history (account_id, seq, at, by, by_name, action, subject, subject_name, token_id, from_facts,
         to_facts, request_id, address, stamp) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[accountId, row.seq, at, by, byName, action, subject, subjectName, tokenId, fromText, toText],
      ...[requestId, address, stamp],
    )
    this.#heads.set(accountId, { seq: row.seq, last: stamp })
  }

  #readHead(accountId: string): Head {
    const head = this.db.tuple<[number, Uint8Array]>(
      'SELECT seq, last FROM history_heads WHERE account_id = ?',
      accountId,
    )
    return head === undefined ? { seq: 0, last: new Uint8Array() } : { seq: head[0], last: head[1] }
  }

  /** Writes what was gathered. Without it, nothing of this session may be committed. */
  settle(): void {
    for (const [scope, { active, inactive }] of this.#counts) {
      this.db.run(
        `INSERT INTO token_counts (scope, status, count) VALUES (?1, 'active', ?2), (?1, 'inactive', ?3)
         ON CONFLICT DO UPDATE SET count = count + excluded.count`,
        ...[scope, active, inactive],
      )
    }
    for (const [accountId, { seq, last }] of this.#heads) {
      this.db.run(
        'INSERT OR REPLACE INTO history_heads (account_id, seq, last, stamp) VALUES (?, ?, ?, ?)',
        ...[accountId, seq, last, headStamp(accountId, seq, last, this.stamps)],
      )
    }
    this.forget()
  }

  /** For a change that is taken back: what it has gathered is not to be written. */
  forget(): void {
    this.#counts.clear()
    this.#heads.clear()
  }
}

export function accountNumber(db: Connection, accountId: string): number {
  const account = db.tuple<[number]>('SELECT no FROM accounts WHERE id = ?', accountId)
  if (account === undefined) throw new Failure('account-not-found')
  return account[0]
}
