// How this engine makes changes without history, inside the transaction that the writer thread has begun. Each either completes or
// throws, and is then rolled back as a whole.

import { type Ask, type Reserved, reserve } from '../../../tokens/limits/limit.ts'
import { Failure } from '../../../tokens/model/errors.ts'
import type { Timestamp } from '../../../tokens/model/token.ts'
import { SPENT_MS } from '../../../tokens/portal/session.ts'
import { keyIdOf } from '../../../tokens/trust/vault.ts'
import type { MasterKeyChange, Resealed } from '../../../tokens/upkeep/ports.ts'
import { PRECISION_MS } from '../../../tokens/verify/recent-verifications.ts'
import { WRITES } from '../../changes/all.ts'
import { RESEAL_SECRETS } from '../../changes/upkeep.ts'
import type { Statement } from '../../changes/write.ts'
import { on } from '../../questions/question.ts'
import type { Connection } from '../sqlite-connection.ts'
import type { Transaction } from '../transaction.ts'
import { SQLITE } from './dialect.ts'
import { findSealingKey } from './lookups.ts'
import { beginLife, renewVerifiers } from './news.ts'
import { addUsage, ageUsage, saveRecent } from './usage-writes.ts'

function spend({ db }: Transaction, digests: readonly Uint8Array[], at: Timestamp): boolean {
  db.run('DELETE FROM spent_sign_ins WHERE spent_at <= ?', at - SPENT_MS)
  const add = 'INSERT INTO spent_sign_ins (digest, spent_at) VALUES (?, ?) ON CONFLICT DO NOTHING'
  const added = digests.map((digest) => db.run(add, digest, at))
  return added.every((rows) => rows === 1)
}

function changeMasterKey({ db }: Transaction, { from, to, sealedSecret, at }: MasterKeyChange): void {
  const changed = db.run('UPDATE vault SET seals = 0 WHERE key_id = ? AND seals = 1', from)
  if (changed === 0) throw new Failure('master-key-superseded')
  db.run('INSERT INTO vault (key_id, sealed_secret, created_at) VALUES (?, ?, ?)', to, sealedSecret, at)
}

function resealTokens({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(db, resealed)
  let changed = 0
  for (const { id, before, after } of resealed) {
    changed += db.run('UPDATE tokens SET sealed = ? WHERE id = ? AND sealed = ?', after, id, before)
  }
  return changed
}

function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(db, resealed)
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const { sql } of RESEAL_SECRETS) changed += db.run(sql, id, after, before)
  }
  return changed
}

/** Only one process at a time writes to the file: the answer holds until the commit. */
function requireSealing(db: Connection, resealed: readonly Resealed[]): void {
  const sealing = findSealingKey(db)
  if (resealed.some(({ after }) => keyIdOf(after) !== sealing)) throw new Failure('master-key-superseded')
}

function retireMasterKey({ db }: Transaction, id: string, at: number): void {
  if (db.run('DELETE FROM vault WHERE key_id = ? AND seals = 0', id) === 0) return
  db.run('INSERT INTO retired_master_keys (key_id, retired_at) VALUES (?, ?)', id, at)
}

/** Needs no history row: what is left of a limit is no change of a token. */
function reserveUnits({ db }: Transaction, _account: string, ask: Ask): Reserved {
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

function saveUses({ db }: Transaction, uses: ReadonlyMap<string, number>): Map<string, number> {
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
function probe(_session: Transaction): void {}

const made = on<Transaction, 'at once', typeof WRITES>(
  WRITES,
  ({ sql: write, values, read }: Statement<never[], unknown>) => {
    const sql = write(SQLITE)
    return ({ db }, ...args) => read(db.run(sql, ...values(...args)))
  },
  {
    addUsage,
    ageUsage,
    changeMasterKey,
    renewVerifiers,
    resealTokens,
    resealWebhooks,
    reserveUnits,
    retireMasterKey,
    saveRecent,
    saveUses,
    spend,
  },
)

export const writes = { ...made, beginLife, probe }
