// Reads every stamped row and lists those that were changed outside Latchkey, and the stored totals that are wrong.

import { BULK_OPERATIONS, BULK_PARTS } from '../bulk/tables.ts'
import type { ChainLink } from '../history/history.ts'
import { readStoredJson } from '../model/fields.ts'
import type { StoredRow, Table, Value } from '../model/table.ts'
import { RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../model/tables.ts'
import type { Status, TokenRecord } from '../model/token.ts'
import type { AccountStore, CountStore, ReportStore, SubAccountStore, TokenStore } from '../service/ports.ts'
import { NOT_STORED } from '../trust/credential.ts'
import { KeyNotGiven } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import { isGenuine, type Stamped, type Tampered } from '../trust/stamp.ts'
import { keyIdOf } from '../trust/vault.ts'
import { WEBHOOKS } from '../webhooks/tables.ts'
import type { StoredWebhook } from '../webhooks/webhook.ts'
import { openSecrets } from '../webhooks/webhooks.ts'
import { type OnPhase, partsOf } from './copy.ts'
import type { RowStore } from './ports.ts'
import { STORED } from './stored.ts'

interface RowProblem extends Tampered {
  readonly problem: string
}

export interface Examined {
  readonly rows: Readonly<Record<string, number>>
  /** The first `MAX_LISTED` of them. */
  readonly problems: readonly RowProblem[]
  readonly problemCount: number
  readonly totals: Totals
}

/** The stored totals, compared with the number of tokens. */
export interface Totals {
  readonly wrong: readonly string[]
  /** The number of accounts that were changed during the count: their totals cannot be compared. */
  readonly changing: number
}

export const DAMAGED =
  'The database is damaged. Stop the server and restore a backup with `latchkey restore FILE --replace`: the damaged ' +
  'database is kept, and what was revoked since the backup stays revoked.'

/** The end of a sentence about a journal that is broken, but not in the part that this store needs. */
export const BROKEN_JOURNAL =
  ', so that a restore of an earlier backup could not replay all that was revoked since. Put the journal back from a ' +
  'copy, or start a new one with `latchkey restore --accept-revocation-loss`: this store loses nothing by that.'

type RowPorts = Pick<RowStore, 'readRows'>
type TotalPorts = Pick<TokenStore, 'listTokens'> &
  Pick<SubAccountStore, 'findSubAccount'> &
  Pick<ReportStore, 'listHistory'>
type Ports = RowPorts & TotalPorts & Pick<CountStore, 'countTokens'> & Pick<AccountStore, 'listAccounts'>
type ExaminedParts = Pick<Parts<Ports>, 'store' | 'stamps' | 'keys'>

const MAX_LISTED = 1_000
const CONCURRENT_READS = 100
const CHAIN_PART = 1_000

/** Row and stamp are read together, so that a row which is changed meanwhile matches too. */
function examineRow(table: Table, row: StoredRow, parts: ExaminedParts): RowProblem | undefined {
  const id = String(table === RETIRED_CREDENTIALS ? row.tokenId : table === BULK_PARTS ? row.operationId : row.id)
  const kind = table.stamp?.kind as Tampered['kind']
  if (!isGenuine(table, row as Stamped<StoredRow>, parts.stamps)) {
    return { kind, id, problem: `does not match its stamp: changed outside Latchkey; ${consequenceOf(table)}` }
  }
  const unreadable = Object.keys(table.fields).find((name) => table.fields[name]?.isJson && !isJson(row[name] ?? null))
  if (unreadable !== undefined)
    return { kind, id, problem: `has ${unreadable} that are no JSON: changed outside Latchkey` }
  if (table === WEBHOOKS) return examineSecrets(row as unknown as StoredWebhook, parts)
  return table === TOKENS ? examineCredential(row as unknown as TokenRecord, parts) : undefined
}

function consequenceOf(table: Table): string {
  if (table === WEBHOOKS) return 'nothing is sent to it: delete it, and create it again'
  if (table === BULK_OPERATIONS || table === BULK_PARTS) return 'no token is changed by it: order the operation again'
  const advice = table === SUB_ACCOUNTS ? ' until you PATCH its status and policy, both in one request' : ''
  return `it authenticates nobody${advice}`
}

/** As they sign at any time: the former one too. */
function examineSecrets(webhook: StoredWebhook, parts: ExaminedParts): RowProblem | undefined {
  try {
    openSecrets(webhook, 0, parts)
    return undefined
  } catch {
    const problem = 'has a secret that cannot be decrypted: nothing is sent to it; delete it, and create it again'
    return { kind: 'webhook', id: webhook.id, problem }
  }
}

const isJson = (value: Value) => value === null || readStoredJson(String(value)) !== undefined

function examineCredential(token: TokenRecord, { keys, stamps }: ExaminedParts): RowProblem | undefined {
  const problem = (text: string): RowProblem => ({ kind: 'credential', id: token.id, problem: text })
  let credential: string
  try {
    credential = keys.openCredential(token)
  } catch (error) {
    return problem(
      error instanceof KeyNotGiven
        ? `is ${error.message}: give that key in addition, or rotate the token to get a new one`
        : 'cannot be decrypted: it was changed outside Latchkey; rotate the token to get a new one',
    )
  }
  if (credential === NOT_STORED) return undefined
  const same = Buffer.compare(stamps.digest(credential), token.digest) === 0
  return same ? undefined : problem('is not the one that authenticates: an older one was put back outside Latchkey')
}

/** Tokens whose credential is sealed with a master key that was not given. It authenticates, but cannot be shown. */
export async function findSealedWithOthers({
  store,
  keys,
}: Pick<Parts<RowPorts>, 'store' | 'keys'>): Promise<string[]> {
  const found: string[] = []
  for await (const part of partsOf(store, TOKENS, undefined)) {
    const others = part.filter(({ sealed }) => keys.find(keyIdOf(sealed as Uint8Array)) === undefined)
    found.push(...others.map(({ id }) => String(id)))
  }
  return found
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

interface AccountSeen {
  /** Before its tokens were counted. Every change of a total adds a row to the history. */
  readonly historyRows: number
  readonly subAccountIds: string[]
}

async function countHistory(store: TotalPorts, accountId: string): Promise<number> {
  return (await store.listHistory(accountId, { page: 1, limit: 1 })).total
}

async function compareTotals(
  store: TotalPorts,
  accounts: ReadonlyMap<string, AccountSeen>,
  tally: Tally,
): Promise<Totals> {
  const wrong: string[] = []
  let changing = 0
  for (const [accountId, { historyRows, subAccountIds }] of accounts) {
    const stored = await readTotals(store, accountId, subAccountIds)
    if ((await countHistory(store, accountId)) !== historyRows) {
      changing++
      continue
    }
    for (const [scope, { active, inactive }] of stored) {
      const counted = tally.get(scope) ?? { active: 0, inactive: 0 }
      if (active === counted.active && inactive === counted.inactive) continue
      wrong.push(
        `${scope} has ${counted.active} active and ${counted.inactive} inactive, not ${active} and ${inactive}`,
      )
    }
  }
  return { wrong, changing }
}

/** Sub-accounts are read by id: every page of a list would skip all rows of the pages before. */
async function readTotals(store: TotalPorts, accountId: string, subAccountIds: readonly string[]): Promise<Tally> {
  const total = async (status: Status) => (await store.listTokens(accountId, { page: 1, limit: 1, status }))?.total ?? 0
  const stored: Tally = new Map([[accountId, { active: await total('active'), inactive: await total('inactive') }]])
  for (let from = 0; from < subAccountIds.length; from += CONCURRENT_READS) {
    const ids = subAccountIds.slice(from, from + CONCURRENT_READS)
    const found = await Promise.all(ids.map((id) => store.findSubAccount(accountId, id)))
    for (const row of found) if (row !== undefined) stored.set(row.subAccount.id, { ...row.tokens })
  }
  return stored
}

export async function examineRows(parts: ExaminedParts, onPhase: OnPhase): Promise<Examined> {
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
        if (problems.length < MAX_LISTED) problems.push(problem)
      }
      rows[table.name] = (rows[table.name] ?? 0) + part.length
      advance(part.length)
    }
  }
  return { rows, problems, problemCount, totals: await compareTotals(parts.store, accounts, tally) }
}

/** The heads of all history chains, then their rows in order, read in parts. */
export async function* readChainLinks(
  readHeads: () => Promise<readonly ChainLink[]>,
  readPart: (after: { accountId: string; seq: number }, limit: number) => Promise<readonly ChainLink[]>,
): AsyncGenerator<ChainLink> {
  yield* await readHeads()
  let after = { accountId: '', seq: 0 }
  for (;;) {
    const part = await readPart(after, CHAIN_PART)
    yield* part
    const last = part.at(-1)
    if (last?.kind !== 'row') return
    after = last.row
  }
}
