// What the event loop's connection has read, returned as the same object for as long as nothing about it has changed. The reads
// below are called within `read`, or in the callback in which `shareSnapshot` resolves.
import { hash } from 'node:crypto'
import { bytesOf } from '../../../tokens/model/clock-cache.ts'
import type { OrderedQuery, Slice } from '../../../tokens/model/page.ts'
import type { Table } from '../../../tokens/model/table.ts'
import { SUB_ACCOUNTS, TOKENS } from '../../../tokens/model/tables.ts'
import type { ListedToken, StoredKey, SubAccount } from '../../../tokens/model/token.ts'
import type { TokenRow } from '../../../tokens/service/ports.ts'
import type { Stamped } from '../../../tokens/trust/stamp.ts'
import type { Stamps } from '../../../tokens/trust/vault.ts'
import { type Candidate, toCandidate } from '../../../tokens/trust/verdict.ts'
import type { ReadyPolicy } from '../../../tokens/verify/policy.ts'
import { findKeyByDigest } from '../../questions/accounts.ts'
import { type ChosenPage, countScope, pageByIndex } from '../sql/listing.ts'
import * as lookups from '../sql/lookups.ts'
import { type Connection, translateError } from '../sqlite-connection.ts'
import { Changes } from './changes.ts'
import { Compact } from './compact.ts'
import { Known } from './known.ts'

/** Bytes that an entry of the usual size counts for; of a row, with the decrypted credential. */
const CANDIDATE = 450
const ROW = 800
const SUB_ACCOUNT = 1_000

/** In bytes, but for keys, of which each is small. */
const LIMITS = {
  candidates: 150_000 * CANDIDATE,
  keys: 2_000,
  rows: 60_000 * ROW,
  subAccounts: 10_000 * SUB_ACCOUNT,
}

export class Memory {
  readonly #db: Connection
  readonly #stamps: Stamps
  readonly #changes: Changes
  readonly #candidates: Known<Candidate>
  readonly #keys: Known<Stamped<StoredKey>>
  readonly #rows: Known<TokenRow>
  readonly #subAccounts: Known<SubAccount>
  readonly #compact = new Compact()
  #next: Promise<void> | undefined
  #isShared = false

  constructor(db: Connection, stamps: Stamps, limits = LIMITS) {
    this.#db = db
    this.#stamps = stamps
    this.#changes = new Changes(db)
    this.#candidates = new Known(this.#changes, limits.candidates, bytesOfCandidate)
    this.#keys = new Known(this.#changes, limits.keys)
    this.#rows = new Known(this.#changes, limits.rows, bytesOfRow)
    this.#subAccounts = new Known(this.#changes, limits.subAccounts, bytesOfSubAccount)
  }

  /** Runs `question` in a new snapshot, or in the one that `shareSnapshot` has opened for this callback. */
  read<Value>(question: () => Value): Value {
    if (this.#isShared) return question()
    return this.#db.snapshot(() => {
      this.#changes.look()
      return question()
    })
  }

  /**
   * Resolves in the next turn of the event loop. All callers of this turn resume in one callback and share one snapshot, because
   * opening one and looking for changes takes some 20 µs. Further reads of a request in this callback use the same snapshot.
   */
  shareSnapshot(): Promise<void> {
    this.#next ??= new Promise((resolve, reject) => {
      setImmediate(() => {
        this.#next = undefined
        try {
          this.#db.control('BEGIN')
          this.#changes.look()
          this.#isShared = true
          resolve()
        } catch (error) {
          reject(translateError(error))
        }
        // A tick that a microtask asks for comes after all microtasks, as the last of this callback.
        queueMicrotask(() => process.nextTick(() => this.#endSnapshot()))
      })
    })
    return this.#next
  }

  #endSnapshot(): void {
    this.#isShared = false
    this.#db.rollBack()
  }

  /** Counts what has changed: what was read at the same time is of one state of the store. */
  get time(): number {
    return this.#changes.time
  }

  findCandidate(presented: string): Candidate | undefined {
    const name = nameOf(presented)
    const known = this.#candidates.get(name)
    if (known !== undefined) return known
    const digest = this.#stamps.digest(presented)
    const found = lookups.findByDigest(this.#db, digest)
    const read = found && toCandidate(found, digest, this.#stamps)
    if (read === undefined || read.retiresAt !== null || read.tampered !== undefined) return read
    const token = this.#compact.texts(read.token)
    const candidate = { ...read, token }
    this.#candidates.set(name, candidate, [token.id, token.subAccountId], this.time)
    return candidate
  }

  findKey(presented: string): Stamped<StoredKey> | undefined {
    const name = nameOf(presented)
    const known = this.#keys.get(name)
    if (known !== undefined) return known
    const key = lookups.ask(this.#db, findKeyByDigest, [this.#stamps.digest(presented)])
    if (key !== undefined) this.#keys.set(name, key, [key.id], this.time)
    return key
  }

  findToken(accountId: string, id: string): TokenRow | undefined {
    const row = this.#rows.get(id) ?? this.#remember(lookups.findListedToken(this.#db, id))
    return row?.token.accountId === accountId ? row : undefined
  }

  /** For a list that an index holds in its order. */
  listTokens(accountId: string, query: OrderedQuery): Slice<TokenRow> | undefined {
    const { subAccountId } = query
    if (subAccountId !== undefined && this.#subAccount(subAccountId)?.accountId !== accountId) return undefined
    const total = countScope(this.#db, subAccountId ?? accountId, query.status)
    const ids = pageByIndex(this.#db, query, subAccountId ?? accountId, total)
    return { items: this.#rowsOf(ids), total }
  }

  /** The rows of a page that another thread has chosen; undefined if anything was committed since `time`. */
  fill(chosen: ChosenPage, time: number): Slice<TokenRow> | undefined {
    if (this.time !== time) return undefined
    return { items: this.#rowsOf(chosen.ids), total: chosen.total }
  }

  invalidateAll(): void {
    this.#changes.invalidateAll()
  }

  #rowsOf(ids: readonly string[]): TokenRow[] {
    const rows = ids.map((id) => this.#rows.get(id))
    const missing = ids.filter((_, i) => rows[i] === undefined)
    const read = new Map(lookups.findListedTokens(this.#db, missing).map((token) => [token.id, this.#remember(token)]))
    return rows.map((row, i) => row ?? read.get(ids[i] as string)).filter((row) => row !== undefined)
  }

  #remember(token: ListedToken | undefined): TokenRow | undefined {
    if (token === undefined) return undefined
    const subAccount = this.#subAccount(token.subAccountId)
    if (subAccount === undefined) return undefined
    const compact = { ...this.#compact.texts(token), sealed: this.#compact.bytes(token.sealed) }
    const row = { token: compact, subAccount }
    this.#rows.set(token.id, row, [token.id, token.subAccountId], this.time)
    return row
  }

  #subAccount(id: string): SubAccount | undefined {
    const known = this.#subAccounts.get(id)
    if (known !== undefined) return known
    const found = lookups.findOwnSubAccount(this.#db, id)
    if (found !== undefined) this.#subAccounts.set(id, found, [id], this.time)
    return found
  }
}

/** A hash as the cache key, so that presented credentials and account keys are not kept in memory. */
function nameOf(presented: string): string {
  return hash('sha256', presented, 'binary')
}

/** Both policies are its own: candidates do not share them. */
function bytesOfCandidate({ policies: { token, subAccount } }: Candidate): number {
  return CANDIDATE + bytesOfPolicy(token) + bytesOfPolicy(subAccount)
}

/** Measured: prepared for decisions, short addresses take up to fifteen times their JSON. */
function bytesOfPolicy(policy: ReadyPolicy | undefined): number {
  if (policy === undefined) return 0
  const { addresses = [], scopes: { listed } = { listed: [] } } = policy
  return 500 + 210 * addresses.length + 90 * listed.length + bytesOf(listed)
}

/** Whatever is not a number; so a field that is added counts, too. */
const textsIn = (table: Table) =>
  Object.entries(table.fields)
    .filter(([, { type }]) => type !== 'number')
    .map(([name]) => name)

const TOKEN_TEXTS = textsIn(TOKENS)
const SUB_ACCOUNT_TEXTS = textsIn(SUB_ACCOUNTS)

/** With all of its sub-account, which may be in no other row, and evicted by itself. */
function bytesOfRow({ token, subAccount }: TokenRow): number {
  const texts = bytesOfTexts(token, TOKEN_TEXTS) + bytesOfTexts(subAccount, SUB_ACCOUNT_TEXTS)
  return Math.max(ROW, 340 + texts)
}

function bytesOfSubAccount(subAccount: SubAccount): number {
  return Math.max(SUB_ACCOUNT, 540 + bytesOfTexts(subAccount, SUB_ACCOUNT_TEXTS))
}

function bytesOfTexts(row: object, names: readonly string[]): number {
  const values = row as Readonly<Record<string, string | Uint8Array | null | undefined>>
  return bytesOf(names.map((name) => values[name] ?? null))
}
