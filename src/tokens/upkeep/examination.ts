// Reads every row that decides something, or holds a credential, and names those that were altered by hand; counts the
// tokens on the way, and names the totals that differ.

import { RETIRED_CREDENTIALS, STORED, type StoredRow, SUB_ACCOUNTS, type Table, TOKENS } from '../model/tables.ts'
import type { Status, TokenRecord } from '../model/token.ts'
import type { Store } from '../ports.ts'
import type { KeyRing } from '../trust/key-ring.ts'
import { isGenuine, type Stamped, type Tampered } from '../trust/stamp.ts'
import type { Stamps } from '../trust/vault.ts'
import { type OnPhase, partsOf } from './copy.ts'

export interface RowProblem extends Tampered {
  readonly problem: string
}

export interface Examined {
  readonly rows: Readonly<Record<string, number>>
  /** The first of them. */
  readonly problems: readonly RowProblem[]
  /** All of them. */
  readonly problemCount: number
  readonly totals: Totals
}

/** The stored totals, compared with the tokens that there are. */
export interface Totals {
  readonly wrong: readonly string[]
  /** Accounts that were changed while they were counted: their totals cannot be compared. */
  readonly changing: number
}

export const DAMAGED =
  'The database is damaged. Stop the server and put a backup in its place with `latchkey restore FILE --replace`: the ' +
  'damaged one is kept, and what was revoked since the backup stays revoked.'

/** How a sentence goes on that says what is wrong with a journal which the store itself is in step with. */
export const BROKEN_JOURNAL =
  ', so that a restore of an earlier backup could not replay all that was revoked since. Put the journal back from a ' +
  'copy, or begin a new one with `latchkey restore --accept-revocation-loss`: this store loses nothing by that.'

interface Parts {
  readonly store: Store
  readonly stamps: Stamps
  readonly keys: KeyRing
}

const MAX_NAMED = 1_000
const LOOKED_UP_TOGETHER = 100

/** A row is read together with its stamp: one that the service changes meanwhile matches too. */
function examineRow(table: Table, row: StoredRow, parts: Parts): RowProblem | undefined {
  if (!isGenuine(table, row as Stamped<StoredRow>, parts.stamps)) {
    const id = String(table === RETIRED_CREDENTIALS ? row.tokenId : row.id)
    return altered(table.stamp?.kind as Tampered['kind'], id)
  }
  return table === TOKENS ? examineCredential(row as unknown as TokenRecord, parts) : undefined
}

function altered(kind: Tampered['kind'], id: string): RowProblem {
  return { kind, id, problem: 'does not match its stamp: altered by hand; it authenticates nobody' }
}

function examineCredential(token: TokenRecord, { keys, stamps }: Parts): RowProblem | undefined {
  const problem = (text: string): RowProblem => ({ kind: 'credential', id: token.id, problem: text })
  let credential: string
  try {
    credential = keys.openCredential(token)
  } catch {
    return problem('does not open: altered, cut or moved by hand; rotate the token to get a new one')
  }
  const same = Buffer.compare(stamps.digest(credential), token.digest) === 0
  return same ? undefined : problem('opens, but is not the one that authenticates: an older one was put back by hand')
}

/** Tokens by status, of each account and sub-account. */
type Tally = Map<string, Record<Status, number>>

function countIn(tally: Tally, { accountId, subAccountId, status }: TokenRecord): void {
  for (const scope of [accountId, subAccountId]) {
    const counts = tally.get(scope) ?? { active: 0, inactive: 0 }
    counts[status]++
    tally.set(scope, counts)
  }
}

/** What is noted of an account before its rows are read, and while they are. */
interface AccountSeen {
  /** Every change of a total adds a row to the history of its account. */
  readonly historyRows: number
  readonly subAccountIds: string[]
}

async function countHistory(store: Store, accountId: string): Promise<number> {
  return (await store.listHistory(accountId, { page: 1, limit: 1 })).total
}

async function compareTotals(store: Store, accounts: ReadonlyMap<string, AccountSeen>, tally: Tally): Promise<Totals> {
  const wrong: string[] = []
  let changing = 0
  for (const [accountId, { historyRows, subAccountIds }] of accounts) {
    const kept = await readKept(store, accountId, subAccountIds)
    if ((await countHistory(store, accountId)) !== historyRows) {
      changing++
      continue
    }
    for (const [scope, { active, inactive }] of kept) {
      const counted = tally.get(scope) ?? { active: 0, inactive: 0 }
      if (active === counted.active && inactive === counted.inactive) continue
      wrong.push(
        `${scope} has ${counted.active} active and ${counted.inactive} inactive, not ${active} and ${inactive}`,
      )
    }
  }
  return { wrong, changing }
}

/** Sub-accounts are looked up by id: turning pages would cost what is skipped, again for every page. */
async function readKept(store: Store, accountId: string, subAccountIds: readonly string[]): Promise<Tally> {
  const total = async (status: Status) => (await store.listTokens(accountId, { page: 1, limit: 1, status }))?.total ?? 0
  const kept: Tally = new Map([[accountId, { active: await total('active'), inactive: await total('inactive') }]])
  for (let from = 0; from < subAccountIds.length; from += LOOKED_UP_TOGETHER) {
    const ids = subAccountIds.slice(from, from + LOOKED_UP_TOGETHER)
    const found = await Promise.all(ids.map((id) => store.findSubAccount(accountId, id)))
    for (const row of found) if (row !== undefined) kept.set(row.subAccount.id, { ...row.tokens })
  }
  return kept
}

export async function examineRows(parts: Parts, onPhase: OnPhase): Promise<Examined> {
  const { active, inactive } = await parts.store.countTokens()
  const rows: Record<string, number> = {}
  const problems: RowProblem[] = []
  let problemCount = 0
  const tally: Tally = new Map()
  const accounts = new Map<string, AccountSeen>()
  for (const { id } of await parts.store.listAccounts()) {
    accounts.set(id, { historyRows: await countHistory(parts.store, id), subAccountIds: [] })
  }
  for (const table of STORED) {
    if (table.stamp === undefined) continue
    const advance = table === TOKENS ? onPhase('Tokens', active + inactive) : () => {}
    rows[table.name] = 0
    for await (const part of partsOf(parts.store, table, undefined)) {
      for (const row of part) {
        if (table === TOKENS) countIn(tally, row as unknown as TokenRecord)
        if (table === SUB_ACCOUNTS) accounts.get(String(row.accountId))?.subAccountIds.push(String(row.id))
        const problem = examineRow(table, row, parts)
        if (problem === undefined) continue
        problemCount++
        if (problems.length < MAX_NAMED) problems.push(problem)
      }
      rows[table.name] = (rows[table.name] ?? 0) + part.length
      advance(part.length)
    }
  }
  return { rows, problems, problemCount, totals: await compareTotals(parts.store, accounts, tally) }
}
