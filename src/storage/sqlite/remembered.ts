// What the event loop's connection has read lately. Nothing is believed by its age: each use asks the database for all
// that decides and can change, the stamps included, and reads the whole row again when any of it has.
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
  readonly stamps: string
}

export class Remembered {
  readonly #db: Connection
  readonly #candidates = new Recent<string, { readonly candidate: Candidate; readonly stamps: string }>(CANDIDATES)
  readonly #keys = new Recent<string, { readonly key: Stamped<StoredKey>; readonly stamp: string }>(KEYS)
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
        `SELECT t.id, t.version, t.status, t.expires_at, t.sub_account_id, s.suspended_at,
           hex(t.stamp) || hex(s.stamp) AS stamps
         FROM tokens t CROSS JOIN sub_accounts s ON s.id = t.sub_account_id WHERE t.digest = ?`,
        digest,
      )
      if (state?.stamps === known.stamps && isStillSo(known.candidate, state)) return known.candidate
    }
    const found = reads.findCandidate(this.#db, digest)
    if (found !== undefined && found.retired === undefined) {
      const stamps = hex(found.token.stamp) + hex(found.subAccount.stamp)
      this.#candidates.set(name, { candidate: found, stamps })
    }
    return found
  }

  findKey(digest: Uint8Array): Stamped<StoredKey> | undefined {
    const name = nameOf(digest)
    const known = this.#keys.get(name)
    if (known !== undefined) {
      const state = this.#db.get<{ expires_at: number | null; revoked_at: number | null; stamp: string }>(
        'SELECT expires_at, revoked_at, hex(stamp) AS stamp FROM account_keys WHERE digest = ?',
        digest,
      )
      const { key, stamp } = known
      const same = state?.stamp === stamp && state.revoked_at === key.revokedAt && state.expires_at === key.expiresAt
      if (same) return key
    }
    const found = reads.findKey(this.#db, digest)
    if (found !== undefined) this.#keys.set(name, { key: found, stamp: hex(found.stamp) })
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

/** As SQLite writes it. */
function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex').toUpperCase()
}
