// Every change of the store.
import type { Methods } from '../questions/question.ts'
import { accountChanges } from './accounts.ts'
import { bulkChanges } from './bulk.ts'
import type { Change } from './change.ts'
import { limitWrites } from './limits.ts'
import { peopleChanges, peopleWrites } from './people.ts'
import { portalChanges } from './portal.ts'
import { subAccountChanges } from './sub-accounts.ts'
import { tokenChanges } from './tokens.ts'
import { upkeepWrites } from './upkeep.ts'
import { usageWrites } from './usage.ts'
import { verifierChanges, verifierWrites } from './verifiers.ts'
import { webhookChanges, webhookWrites } from './webhooks.ts'

/** Those that load rows, plan and record, once for both engines. */
export const CHANGES = {
  ...accountChanges,
  ...bulkChanges,
  ...peopleChanges,
  ...portalChanges,
  ...subAccountChanges,
  ...tokenChanges,
  ...verifierChanges,
  ...webhookChanges,
}

/** Those without history. */
export const WRITES = {
  ...limitWrites,
  ...peopleWrites,
  ...upkeepWrites,
  ...usageWrites,
  ...verifierWrites,
  ...webhookWrites,
}

export type Changes = {
  readonly [Name in keyof typeof CHANGES]: (typeof CHANGES)[Name] extends (...args: infer Args) => Change<infer Answer>
    ? (...args: Args) => Promise<Answer>
    : never
}

export type Writes = Methods<typeof WRITES>
