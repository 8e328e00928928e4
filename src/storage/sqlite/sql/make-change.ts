// Makes a change inside the transaction that the writer thread has begun. A change that is refused has written nothing, unless the
// database refuses it.
import type { Change } from '../../changes/change.ts'
import type { Transaction } from '../transaction.ts'
import { requireAuthority } from './authority.ts'
import { finders, write } from './rows.ts'

export function makeChange<Answer>(transaction: Transaction, change: Change<Answer>): Answer {
  const { db, stamps } = transaction
  const { origin, load, plan } = change
  if (origin !== undefined) requireAuthority(db, origin)
  const find = finders(db)
  // What this engine finds is no promise.
  const accounts = typeof change.accounts === 'function' ? change.accounts(find) : change.accounts
  const { answer, writes, events, revocations, decides } = plan(
    load?.(find) ?? [],
    stamps,
    accounts as readonly string[],
  )
  for (const each of writes) write(transaction, each)
  if (origin !== undefined) for (const event of events) transaction.record(event, origin, decides)
  transaction.revocations.push(...revocations)
  return answer
}
