// Every change of the store.
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
import { verifierWrites } from './verifiers.ts'
import { webhookChanges, webhookWrites } from './webhooks.ts'
import type { OwnWrite, Statement } from './write.ts'

/** Those that load rows, plan and record, once for both engines. */
export const CHANGES = {
  ...accountChanges,
  ...bulkChanges,
  ...peopleChanges,
  ...portalChanges,
  ...subAccountChanges,
  ...tokenChanges,
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

type Table = typeof WRITES

export type Changes = {
  readonly [Name in keyof typeof CHANGES]: (typeof CHANGES)[Name] extends (...args: infer Args) => Change<infer Answer>
    ? (...args: Args) => Promise<Answer>
    : never
}

export type Writes = {
  readonly [Name in keyof Table]: Table[Name] extends
    | Statement<infer Args, infer Answer>
    | OwnWrite<infer Args, infer Answer>
    ? (...args: Args) => Promise<Answer>
    : never
}

/** How an engine makes them, in one of its transactions. */
export type Made<Transaction, Answers extends 'at once' | 'later'> = {
  readonly [Name in keyof Writes]: (
    transaction: Transaction,
    ...args: Parameters<Writes[Name]>
  ) => Answers extends 'later' ? ReturnType<Writes[Name]> : Awaited<ReturnType<Writes[Name]>>
}

type OwnNames = { readonly [Name in keyof Table]: Table[Name]['sql'] extends undefined ? Name : never }[keyof Table]

/** `stated` makes what is one statement. */
export function writesOf<Transaction, Answers extends 'at once' | 'later'>(
  stated: (row: Statement<never[], unknown>) => (transaction: Transaction, ...args: never[]) => unknown,
  own: Pick<Made<Transaction, Answers>, OwnNames>,
): Made<Transaction, Answers> {
  const found = Object.entries(WRITES).flatMap(([name, row]) =>
    row.sql === undefined ? [] : [[name, stated(row as Statement<never[], unknown>)]],
  )
  return { ...Object.fromEntries(found), ...own }
}
