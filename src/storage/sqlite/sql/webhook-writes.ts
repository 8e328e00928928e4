// What webhooks need besides changes with history: positions, claims, and secrets that are sealed with another key.
import type { Resealed } from '../../../tokens/operator-ports.ts'
import * as statements from '../../webhook-queries.ts'
import type { Transaction } from '../transaction.ts'
import { SQLITE } from './dialect.ts'
import { requireSealing } from './sealing.ts'

export function passEvents({ db }: Transaction, id: string, upTo: number): void {
  db.run(statements.PASS_EVENTS.sql, id, upTo)
}

const CLAIM = statements.claimStatement(SQLITE)
const RENEW = statements.renewStatement(SQLITE)

export function claim({ db }: Transaction, name: string, holder: string, ms: number): boolean {
  return db.run(CLAIM, name, holder, ms) === 1
}

export function renewClaims({ db }: Transaction, holder: string, ms: number): void {
  db.run(RENEW, holder, ms)
}

export function releaseClaims({ db }: Transaction, holder: string): void {
  db.run(statements.RELEASE_CLAIMS.sql, holder)
}

export function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): number {
  requireSealing(db, resealed)
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const { sql } of statements.RESEAL_SECRETS) changed += db.run(sql, id, after, before)
  }
  return changed
}
