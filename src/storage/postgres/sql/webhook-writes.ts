// What webhooks need besides changes with history: positions, claims, and secrets that are sealed with another key.
import type { Resealed } from '../../../tokens/operator-ports.ts'
import * as statements from '../../webhook-queries.ts'
import { POSTGRES } from './dialect.ts'
import type { Transaction } from './history.ts'

export async function passEvents({ db }: Transaction, id: string, upTo: number): Promise<void> {
  await db.run(statements.PASS_EVENTS.postgresSql, id, upTo)
}

const CLAIM = statements.claimStatement(POSTGRES)
const RENEW = statements.renewStatement(POSTGRES)

export async function claim({ db }: Transaction, name: string, holder: string, ms: number): Promise<boolean> {
  return (await db.run(CLAIM, name, holder, ms)) === 1
}

export async function renewClaims({ db }: Transaction, holder: string, ms: number): Promise<void> {
  await db.run(RENEW, holder, ms)
}

export async function releaseClaims({ db }: Transaction, holder: string): Promise<void> {
  await db.run(statements.RELEASE_CLAIMS.postgresSql, holder)
}

export async function resealWebhooks({ db }: Transaction, resealed: readonly Resealed[]): Promise<number> {
  let changed = 0
  for (const { id, before, after } of resealed) {
    for (const { postgresSql } of statements.RESEAL_SECRETS) changed += await db.run(postgresSql, id, after, before)
  }
  return changed
}
