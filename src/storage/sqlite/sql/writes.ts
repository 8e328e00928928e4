// Changes without history, which each engine makes in its own way, as SQL inside the transaction that the writer thread has
// begun. Each either completes or throws, and is then rolled back as a whole.
import { Failure } from '../../../tokens/errors.ts'
import { type Ask, type Reserved, reserve } from '../../../tokens/model/limit.ts'
import { SPENT_MS } from '../../../tokens/model/portal.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import type { MasterKeyChange, Resealed } from '../../../tokens/operator-ports.ts'
import { PRECISION_MS } from '../../../tokens/verify/recent-verifications.ts'
import type { Transaction } from '../transaction.ts'
import { requireSealing } from './sealing.ts'

export { beginLife } from './news.ts'
export { saveRecent } from './recent-verifications.ts'
export { addUsage, ageUsage } from './usage-writes.ts'
export { endLease, evictVerifier, insertVerifier, renewVerifiers } from './verifiers.ts'
export * from './webhook-writes.ts'

export function spend({ db }: Transaction, digests: readonly Uint8Array[], at: Timestamp): boolean {
  db.run('DELETE FROM spent_sign_ins WHERE spent_at <= ?', at - SPENT_MS)
  const add = 'INSERT INTO spent_sign_ins (digest, spent_at) VALUES (?, ?) ON CONFLICT DO NOTHING'
  const added = digests.map((digest) => db.run(add, digest, at))
  return added.every((rows) => rows === 1)
}

export function changeMasterKey({ db }: Transaction, { from, to, sealedSecret, at }: MasterKeyChange): void {
  const changed = db.run('UPDATE vault SET seals = 0 WHERE key_id = ? AND seals = 1', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', to, sealedSecret, at)
}

export function resealTokens({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(db, resealed)
  let changed = 0
  for (const { id, before, after } of resealed) {
    changed += db.run('UPDATE tokens SET sealed = ? WHERE id = ? AND sealed = ?', after, id, before)
  }
  return changed
}

export function retireMasterKey({ db }: Transaction, id: string, at: number): void {
  if (db.run('DELETE FROM vault WHERE key_id = ? AND seals = 0', id) === 0) return
  db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES (?, ?)', id, at)
}

/** Needs no history row: what is left of a limit is no change of a token. */
export function reserveUnits({ db }: Transaction, _account: string, ask: Ask): Reserved {
  const before = ask.rows.map(({ subject, limit }) => {
    return (
      db.tuple<[string]>('SELECT state FROM limits WHERE subject = ? AND kind = ?', subject, limit.kind)?.[0] ?? null
    )
  })
  const { reserved, states } = reserve(before, ask, Date.now())
  for (const [n, { subject, limit }] of ask.rows.entries()) {
    const state = states[n]
    if (state === undefined) continue
    const keep = 'INSERT INTO limits VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET state = excluded.state'
    db.run(keep, subject, limit.kind, state)
  }
  return reserved
}

export function saveUses({ db }: Transaction, uses: ReadonlyMap<string, number>): Map<string, number> {
  const recent = new Map<string, number>()
  for (const [id, at] of uses) {
    const [find, write] = id.startsWith('key_') ? KEY_USE : TOKEN_USE
    const [recorded] = db.tuple<[number | null]>(find, id) ?? []
    if (typeof recorded === 'number' && at - recorded < PRECISION_MS) recent.set(id, recorded)
    else db.run(write, at, id)
  }
  return recent
}

const KEY_USE = [
  'SELECT last_used_at FROM account_keys WHERE id = ?',
  'UPDATE account_keys SET last_used_at = ? WHERE id = ?',
] as const
const TOKEN_USE = [
  'SELECT at FROM last_used WHERE token_id = ?',
  `INSERT INTO last_used (at, token_id) SELECT ?, id FROM tokens WHERE id = ?
   ON CONFLICT DO UPDATE SET at = excluded.at`,
] as const

/** Changes nothing. Sent because the writer reconciles store and journal before any change. */
export function probe(_session: Transaction): void {}
