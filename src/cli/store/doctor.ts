// Examines the store and reports what is wrong. Repairs nothing, but opening the store migrates it, as in every command.
import type { Latchkey } from '../../compose.ts'
import { ChainCheck } from '../../tokens/history/history.ts'
import { nameSome } from '../../tokens/model/errors.ts'
import { HISTORY_HEADS } from '../../tokens/model/tables.ts'
import { type OnPhase, partsOf } from '../../tokens/upkeep/copy.ts'
import { BROKEN_JOURNAL, DAMAGED, type Examined, examineRows, type Totals } from '../../tokens/upkeep/examination.ts'
import type { Damage, Revocations } from '../../tokens/upkeep/ports.ts'
import { formatDuration } from '../terminal/progress.ts'
import { obstacleMessage } from './backup-commands.ts'

interface HistoryReport {
  readonly rows: number
  readonly accounts: number
  readonly problems: readonly string[]
}

/** Verifies every account's chain of stamps, which an altered, removed or inserted row breaks. */
export async function verifyHistory({ store, stamps, operator }: Latchkey, onPhase?: OnPhase): Promise<HistoryReport> {
  const check = new ChainCheck(stamps)
  // Read before the heads, so that an account created meanwhile is not reported as missing.
  const accounts = await operator.listAccounts()
  let [rows, rowsByHeads] = [0, 0]
  let advance: ((by: number) => void) | undefined
  for await (const link of store.readChains()) {
    check.add(link)
    if (link.kind === 'head') {
      rowsByHeads += link.seq
      continue
    }
    advance ??= onPhase?.('History', rowsByHeads) ?? (() => {})
    advance(1)
    rows++
  }
  const missing = accounts.filter(({ id }) => !check.heads.has(id)).map(({ id }) => `${id}: its history is missing`)
  return { rows, accounts: check.heads.size, problems: [...check.finish(), ...missing] }
}

/** Of one core, on two arm64 cores of 2026. PostgreSQL works at the same time. */
const MICROSECONDS = { token: 60, historyRow: 25 }
/** What takes less is not announced. */
const ANNOUNCED_MS = 5_000

/** How long an examination takes; undefined if that is short. */
export function announce(tokens: number, historyRows: number): string | undefined {
  const ms = (tokens * MICROSECONDS.token + historyRows * MICROSECONDS.historyRow) / 1_000
  if (ms < ANNOUNCED_MS) return undefined
  return `Reads ${tokens} tokens and ${historyRows} rows of history, which takes about ${formatDuration(ms)} or, on a busy machine, longer.`
}

/** Undefined for a damaged store, too: what is wrong with it is reported later. */
export async function announceExamination({ store }: Latchkey): Promise<string | undefined> {
  try {
    const { active, inactive } = await store.countTokens()
    let historyRows = 0
    for await (const part of partsOf(store, HISTORY_HEADS, undefined)) {
      for (const { seq } of part) historyRows += Number(seq)
    }
    return announce(active + inactive, historyRows)
  } catch {
    return undefined
  }
}

interface DoctorReport {
  readonly healthy: boolean
  readonly checks: readonly { readonly check: string; readonly result: string }[]
  /** The altered rows: the first thousand, and how many there are. */
  readonly problems: Examined['problems']
  readonly problemCount: number
}

export async function examine(latchkey: Latchkey, onPhase: OnPhase = () => () => {}): Promise<DoctorReport> {
  const damage = (await latchkey.files?.findDamage()) ?? { database: undefined, journal: undefined }
  try {
    return await examineAll(latchkey, damage, onPhase)
  } catch (error) {
    if (damage.database === undefined) throw error
    return { healthy: false, checks: [storeCheck(damage)], problems: [], problemCount: 0 }
  }
}

async function examineAll(latchkey: Latchkey, damage: Damage, onPhase: OnPhase): Promise<DoctorReport> {
  const { store, revocations, keys, weaknesses } = latchkey
  const obstacle = await revocations.findObstacle()
  if (obstacle === undefined) await store.ping()
  const counts = await store.countTokens()
  const { rows, problems, problemCount, totals } = await examineRows(latchkey, onPhase)
  const history = await verifyHistory(latchkey, onPhase)
  const retiring = (await store.readVault()).filter(({ seals }) => !seals).map(({ keyId }) => keyId)
  const checks = [
    storeCheck(damage),
    { check: 'durability', result: weaknesses.length === 0 ? 'no setting weakens it' : weaknesses.join('; ') },
    {
      check: 'master key',
      result:
        retiring.length === 0
          ? `${keys.sealing.id} seals`
          : `${keys.sealing.id} seals, ${retiring.join(', ')} is being retired: run latchkey master-key rotate`,
    },
    { check: 'tokens', result: `${counts.active} active, ${counts.inactive} inactive` },
    { check: 'totals', result: totalsResult(totals) },
    {
      check: 'rows',
      result:
        problemCount === 0
          ? `${Object.values(rows).reduce((sum, n) => sum + n, 0)} match their stamps and seals`
          : `${problemCount} do not match their stamps and seals`,
    },
    {
      check: 'history',
      result: history.problems.length === 0 ? `${history.rows} rows, unbroken` : nameSome(history.problems, '; '),
    },
    { check: 'revocations', result: await revocationsResult(revocations, obstacle, damage.journal) },
  ]
  const isUndamaged = obstacle === undefined && damage.database === undefined && damage.journal === undefined
  const healthy = problemCount === 0 && totals.wrong.length === 0 && history.problems.length === 0 && isUndamaged
  return { healthy, checks, problems, problemCount }
}

function storeCheck({ database }: Damage): DoctorReport['checks'][number] {
  const result = database === undefined ? 'answers, and the master key fits' : `${DAMAGED} (${database})`
  return { check: 'store', result }
}

function totalsResult({ wrong, changing }: Totals): string {
  if (wrong.length > 0) return `${wrong.length} altered outside Latchkey: ${nameSome(wrong, '; ')}`
  return changing === 0 ? 'as counted' : `as counted, except ${changing} accounts that changed during the count`
}

async function revocationsResult(
  revocations: Revocations,
  obstacle: string | undefined,
  broken: string | undefined,
): Promise<string> {
  if (obstacle !== undefined) return obstacleMessage(obstacle, revocations)
  return broken === undefined ? revocations.summary() : `none is missing here, but ${broken}${BROKEN_JOURNAL}`
}
