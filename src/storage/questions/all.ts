// Every question that the store answers, pages of tokens aside: those are of the engines' own memory.
import { accountQuestions } from './accounts.ts'
import { bulkQuestions } from './bulk.ts'
import { historyQuestions } from './history.ts'
import { limitQuestions } from './limits.ts'
import { peopleQuestions } from './people.ts'
import { portalQuestions } from './portal.ts'
import type { AnyRow, Asked, Methods } from './question.ts'
import { subAccountQuestions } from './sub-accounts.ts'
import { tokenQuestions } from './tokens.ts'
import { upkeepQuestions } from './upkeep.ts'
import { usageQuestions } from './usage.ts'
import { verifierQuestions } from './verifiers.ts'
import { webhookQuestions } from './webhooks.ts'

export const QUESTIONS = {
  ...accountQuestions,
  ...bulkQuestions,
  ...historyQuestions,
  ...limitQuestions,
  ...peopleQuestions,
  ...portalQuestions,
  ...subAccountQuestions,
  ...tokenQuestions,
  ...upkeepQuestions,
  ...usageQuestions,
  ...verifierQuestions,
  ...webhookQuestions,
}

export type Questions = Methods<typeof QUESTIONS>

/** How an engine asks all of them on one of its connections. */
export type Reads<Db, Answers extends 'at once' | 'later'> = {
  readonly [Name in keyof Questions]: (
    db: Db,
    ...args: Parameters<Questions[Name]>
  ) => Answers extends 'later' ? ReturnType<Questions[Name]> : Awaited<ReturnType<Questions[Name]>>
}

/** Those that each engine asks in its own way. */
export type OwnNames = {
  readonly [Name in keyof Questions]: (typeof QUESTIONS)[Name]['query'] extends undefined ? Name : never
}[keyof Questions]

/** `asking` asks what both engines ask in the same words. */
export function readsOf<Db, Answers extends 'at once' | 'later'>(
  asking: (query: Asked<never[], unknown>) => (db: Db, ...args: never[]) => unknown,
  own: Pick<Reads<Db, Answers>, OwnNames>,
): Reads<Db, Answers> {
  const found = Object.entries<AnyRow>(QUESTIONS).flatMap(([name, { query }]) =>
    query === undefined ? [] : [[name, asking(query)]],
  )
  return { ...Object.fromEntries(found), ...own }
}
