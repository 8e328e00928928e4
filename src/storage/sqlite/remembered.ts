// What the event loop's connection has read lately. Nothing is believed by its age: each use asks the database for the
// few numbers that change when the row does, and reads the row again when they have.
import { Recent } from '../../tokens/recent.ts'
import type { Stamped } from '../../tokens/stamp.ts'
import type { StoredKey } from '../../tokens/store.ts'
import type { Candidate } from '../../tokens/verdict.ts'
import type { Connection } from './connection.ts'
import * as reads from './reads.ts'

/** Less than a kilobyte each. None of them holds a secret: digests and stamps, not credentials. */
const CANDIDATES = 20_000
const KEYS = 1_000
const ACCOUNTS = 10_000

interface CandidateState {
  readonly id: string
  readonly version: number
  readonly status: string
  readonly expires_at: number | null
  readonly sub_account_id: string
  readonly suspended_at: number | null
}

export class Remembered {
  readonly #db: Connection
  readonly #candidates = new Recent<string, Candidate>(CANDIDATES)
  readonly #keys = new Recent<string, Stamped<StoredKey>>(KEYS)
  readonly #revisions = new Recent<string, { readonly dataVersion: number; readonly seq: number }>(ACCOUNTS)

  constructor(db: Connection) {
    this.#db = db
  }

  /** Everything that decides about a token and can change is read each time; the rest of the row hangs on its digest. */
  findCandidate(digest: Uint8Array): Candidate | undefined {
    const name = nameOf(digest)
    const known = this.#candidates.get(name)
    if (known !== undefined) {
      const state = this.#db.get<CandidateState>(
        `SELECT t.id, t.version, t.status, t.expires_at, t.sub_account_id, s.suspended_at
         FROM tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id WHERE t.digest = ?`,
        digest,
      )
      if (state !== undefined && isStillSo(known, state)) return known
    }
    const found = reads.findCandidate(this.#db, digest)
    if (found !== undefined && found.retired === undefined) this.#candidates.set(name, found)
    return found
  }

  findKey(digest: Uint8Array): Stamped<StoredKey> | undefined {
    const name = nameOf(digest)
    const known = this.#keys.get(name)
    if (known !== undefined) {
      const state = this.#db.get<{ expires_at: number | null; revoked_at: number | null }>(
        'SELECT expires_at, revoked_at FROM account_keys WHERE digest = ?',
        digest,
      )
      if (state?.revoked_at === known.revokedAt && state.expires_at === known.expiresAt) return known
    }
    const found = reads.findKey(this.#db, digest)
    if (found !== undefined) this.#keys.set(name, found)
    return found
  }

  /** Every change of an account lengthens its history. Nothing at all was committed while data_version stands still. */
  findRevision(accountId: string): string {
    const dataVersion = this.#db.get<{ data_version: number }>('PRAGMA data_version')?.data_version ?? 0
    const known = this.#revisions.get(accountId)
    if (known?.dataVersion === dataVersion) return String(known.seq)
    const head = this.#db.get<{ seq: number }>('SELECT seq FROM history_heads WHERE account_id = ?', accountId)
    const seq = head?.seq ?? 0
    this.#revisions.set(accountId, { dataVersion, seq })
    return String(seq)
  }
}

function isStillSo({ token, subAccount }: Candidate, state: CandidateState): boolean {
  return (
    state.id === token.id &&
    state.version === token.version &&
    state.status === token.status &&
    state.expires_at === token.expiresAt &&
    state.sub_account_id === token.subAccountId &&
    state.suspended_at === subAccount.suspendedAt
  )
}

function nameOf(digest: Uint8Array): string {
  return Buffer.from(digest.buffer, digest.byteOffset, digest.byteLength).toString('latin1')
}
