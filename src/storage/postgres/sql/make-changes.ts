// Makes changes inside one transaction. Their accounts are locked first, by the heads of their histories, so that changes of one
// account happen one after the other and cannot deadlock. Statements that do not need each other's answers are sent together;
// they still run in the order in which they are asked for here.
import { Failure } from '../../../tokens/model/errors.ts'
import { type Asked, type Change, type Find, type Planned, takesAccess } from '../../changes/change.ts'
import { readAuthorities } from './authority.ts'
import { lockHeads, type Recorded, record, type Transaction } from './history.ts'
import { finders, write } from './rows.ts'

export interface Made<Answer> {
  readonly answer: Answer
  readonly takesAccess: boolean
}

export async function makeChange<Answer>(transaction: Transaction, change: Change<Answer>): Promise<Made<Answer>> {
  const [outcome] = await makeChanges(transaction, [change])
  if (outcome instanceof Failure) throw outcome
  return outcome as Made<Answer>
}

/**
 * No two of the same row. One that the rules refuse is answered with its Failure and does not affect the others; what the database
 * refuses undoes them all.
 */
export async function makeChanges<Answer>(
  transaction: Transaction,
  changes: readonly Change<Answer>[],
): Promise<(Made<Answer> | Failure)[]> {
  const { db, stamps } = transaction
  const find = finders(db)
  const asked = accountsOf(changes, find)
  const accounts = asked instanceof Promise ? await asked : asked
  const [heads, requireAuthority, ...found] = await Promise.all([
    lockHeads(transaction, accounts.flat()),
    readAuthorities(
      db,
      changes.flatMap(({ origin }) => origin ?? []),
    ),
    ...changes.map(({ load }) => Promise.all(load?.(find) ?? [])),
  ])
  const plans = changes.map(({ origin, plan }, i) =>
    orFailure(() => {
      if (origin !== undefined) requireAuthority(origin)
      return plan(found[i] ?? [], stamps, accounts[i] ?? [])
    }),
  )
  await carryOut(transaction, heads, changes, plans)
  return plans.map((plan) => (plan instanceof Failure ? plan : { answer: plan.answer, takesAccess: takesAccess(plan) }))
}

async function carryOut(
  transaction: Transaction,
  heads: Awaited<ReturnType<typeof lockHeads>>,
  changes: readonly Change<unknown>[],
  plans: readonly (Planned<unknown> | Failure)[],
): Promise<void> {
  const recorded: Recorded[] = []
  const writing: Promise<unknown>[] = []
  let raises = false
  for (const [i, { origin }] of changes.entries()) {
    const plan = plans[i]
    if (plan === undefined || plan instanceof Failure) continue
    writing.push(...plan.writes.flatMap((each) => write(transaction.db, each)))
    if (origin !== undefined) recorded.push(...plan.events.map((event): Recorded => [event, origin, plan.decides]))
    raises ||= takesAccess(plan)
  }
  if (recorded.length > 0) writing.push(record(transaction, heads, recorded))
  if (raises && transaction.raise !== undefined) writing.push(transaction.raise())
  await Promise.all(writing)
}

/** At once where they are known, so that the statements that follow are sent together with BEGIN. */
function accountsOf(changes: readonly Change<unknown>[], find: Find): Asked<readonly (readonly string[])[]> {
  const asked = changes.map(({ accounts }) => (typeof accounts === 'function' ? accounts(find) : accounts))
  return asked.some((each) => each instanceof Promise) ? Promise.all(asked) : (asked as readonly (readonly string[])[])
}

function orFailure<Result>(work: () => Result): Result | Failure {
  try {
    return work()
  } catch (error) {
    if (error instanceof Failure) return error
    throw error
  }
}
