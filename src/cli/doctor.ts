// Examines the store and reports what is wrong with it. Repairs nothing; but like every command, opening the store brings
// its schema up to date.
import type { Latchkey } from '../compose.ts'
import type { Damage } from '../tokens/ports.ts'
import {
  type ChainStep,
  type ChainWalk,
  findMissingEnd,
  WALK_START,
  walkHead,
  walkRow,
} from '../tokens/record/history.ts'
import type { OnPhase } from '../tokens/upkeep/copy.ts'
import { BROKEN_JOURNAL, DAMAGED, type Examined, examineRows, type Totals } from '../tokens/upkeep/examination.ts'
import { shutText } from './backup.ts'

const MAX_TOTALS_NAMED = 10

export interface HistoryReport {
  readonly rows: number
  readonly accounts: number
  readonly problems: readonly string[]
}

/** Walks every chain. A row altered, removed or inserted shows where the stamps no longer follow from each other. */
export async function verifyHistory({ store, stamps, operator }: Latchkey, onPhase?: OnPhase): Promise<HistoryReport> {
  const walks = new Map<string, ChainWalk>()
  const problems: string[] = []
  const step = (accountId: string, next: (walk: ChainWalk) => ChainStep) => {
    const { walk, problems: found } = next(walks.get(accountId) ?? WALK_START)
    walks.set(accountId, walk)
    for (const problem of found) problems.push(`${accountId}: ${problem}`)
  }
  // Before the heads are read: an account that is made meanwhile is not missed.
  const accounts = await operator.listAccounts()
  let [rows, heads, rowsByHeads] = [0, 0, 0]
  let advance: ((by: number) => void) | undefined
  for await (const link of store.readChains()) {
    if (link.kind === 'head') {
      heads++
      rowsByHeads += link.seq
      step(link.accountId, (walk) => walkHead(walk, link, stamps))
      continue
    }
    advance ??= onPhase?.('History', rowsByHeads) ?? (() => {})
    advance(1)
    rows++
    step(link.row.accountId, (walk) => walkRow(walk, link.row, stamps))
  }
  for (const [accountId, walk] of walks) {
    const missing = findMissingEnd(walk)
    if (missing !== undefined) problems.push(`${accountId}: ${missing}`)
  }
  for (const { id } of accounts) {
    if (walks.get(id)?.head === undefined) problems.push(`${id}: its history is missing`)
  }
  return { rows, accounts: heads, problems }
}

export interface DoctorReport {
  readonly healthy: boolean
  readonly checks: readonly { readonly check: string; readonly result: string }[]
  /** The rows that were altered by hand: the first thousand, and how many there are. */
  readonly problems: Examined['problems']
  readonly problemCount: number
}

export async function examine(latchkey: Latchkey, onPhase: OnPhase = () => () => {}): Promise<DoctorReport> {
  const damage = (await latchkey.files?.findDamage()) ?? { database: undefined, journal: undefined }
  try {
    return await examineAll(latchkey, damage, onPhase)
  } catch (error) {
    if (damage.database === undefined) throw error
    // The rest of the store cannot be read.
    return { healthy: false, checks: [tellStore(damage)], problems: [], problemCount: 0 }
  }
}

async function examineAll(latchkey: Latchkey, damage: Damage, onPhase: OnPhase): Promise<DoctorReport> {
  const { store, files, keys } = latchkey
  const obstacle = await files?.findObstacle()
  if (obstacle === undefined) await store.ping()
  const counts = await store.countTokens()
  const { rows, problems, problemCount, totals } = await examineRows(latchkey, onPhase)
  const history = await verifyHistory(latchkey, onPhase)
  const retiring = (await store.readVault()).filter(({ seals }) => !seals).map(({ keyId }) => keyId)
  const checks = [
    tellStore(damage),
    {
      check: 'master key',
      result:
        retiring.length === 0
          ? `${keys.sealing.id} seals`
          : `${keys.sealing.id} seals, ${retiring.join(', ')} is being retired: run latchkey master-key rotate`,
    },
    { check: 'tokens', result: `${counts.active} active, ${counts.inactive} inactive` },
    { check: 'totals', result: tellTotals(totals) },
    {
      check: 'rows',
      result:
        problemCount === 0
          ? `${Object.values(rows).reduce((sum, n) => sum + n, 0)} as they were stamped and sealed`
          : `${problemCount} altered by hand`,
    },
    {
      check: 'history',
      result: history.problems.length === 0 ? `${history.rows} rows, unbroken` : history.problems.join('; '),
    },
    { check: 'revocations', result: tellRevocations(obstacle, damage.journal) },
  ]
  const whole = obstacle === undefined && damage.database === undefined && damage.journal === undefined
  const healthy = problemCount === 0 && totals.wrong.length === 0 && history.problems.length === 0 && whole
  return { healthy, checks, problems, problemCount }
}

function tellStore({ database }: Damage): DoctorReport['checks'][number] {
  const result = database === undefined ? 'answers, and the master key fits' : `${DAMAGED} (${database})`
  return { check: 'store', result }
}

function tellTotals({ wrong, changing }: Totals): string {
  const named = wrong.slice(0, MAX_TOTALS_NAMED)
  if (wrong.length > 0) return `${wrong.length} altered by hand: ${named.join('; ')}`
  return changing === 0 ? 'as counted' : `as counted, but for ${changing} accounts that were changed meanwhile`
}

function tellRevocations(obstacle: string | undefined, broken: string | undefined): string {
  if (obstacle !== undefined) return shutText(obstacle)
  return broken === undefined ? 'none is missing' : `none is missing here, but ${broken}${BROKEN_JOURNAL}`
}
