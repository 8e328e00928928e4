// Imports tokens from a file, one JSON object per line. The whole file is checked before anything is written. Writing uses
// short transactions, so that a running server keeps responding, and a second run continues where the first ended.
import { statSync } from 'node:fs'
import { IMPORTED } from '../../tokens/history/history.ts'
import { Failure, OperatorError } from '../../tokens/model/errors.ts'
import type { BulkToken, Operator } from '../../tokens/service/operator.ts'
import type { Output } from '../terminal/output.ts'
import { startBytes, startProgress } from '../terminal/progress.ts'
import { type Checked, compareWithStore, makeChecker, makeRepeatCheck } from './import-check.ts'
import { linesOf, requireObjects } from './import-line.ts'
import { Waiting } from './waiting.ts'

const BATCH = 200
interface ImportCounts {
  lines: number
  imported: number
  /** Lines that an earlier run has imported. */
  unchanged: number
  bad: number
}

interface Line {
  readonly number: number
  readonly bytes: number
  readonly checked: Checked
}

interface GoodLine {
  readonly number: number
  readonly token: BulkToken
}

export async function importTokens(
  operator: Operator,
  file: string,
  skipBad: boolean,
  output: Output,
): Promise<ImportCounts> {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) throw new OperatorError(`${file} does not exist`)
  if (!found.isFile()) throw new OperatorError(`${file} is not a file that can be read twice. Write it to one first.`)
  await requireObjects(file)
  const { lines, bad, unchanged: alreadyThere } = await checkAll(operator, file, found.size, output)
  if (bad.size > 0 && !skipBad) {
    throw new OperatorError(
      `${bad.size} of ${lines} lines are bad, so nothing was imported. Fix them, or add --skip-bad.`,
    )
  }
  const wanted = lines - bad.size - alreadyThere
  const progress = startProgress(output, 'Tokens', wanted)
  let imported = 0
  const onImported = (count: number) => {
    imported += count
    progress.advance(count)
  }
  try {
    const unchanged = await write(operator, file, bad, onImported)
    return { lines, bad: bad.size, imported, unchanged }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new OperatorError(
      `The import ended after ${imported} of ${wanted} tokens, which are kept; run it again to continue. ${error.message}.`,
    )
  } finally {
    progress.done()
  }
}

/** Reports every bad line. Nothing is written. */
async function checkAll(operator: Operator, file: string, bytes: number, output: Output) {
  const bad = new Set<number>()
  let [lines, unchanged] = [0, 0]
  const isRepeated = makeRepeatCheck()
  const progress = startBytes(output, 'Checking', bytes)
  const visit = (batch: readonly Line[]) => {
    progress.advance(batch.reduce((sum, line) => sum + line.bytes, 0))
    for (const { number, checked } of batch) {
      if (checked === 'blank') continue
      lines++
      if (checked === 'unchanged') unchanged++
      else {
        const problem = 'problem' in checked ? checked.problem : isRepeated(checked.token)
        if (problem === undefined) continue
        bad.add(number)
        // The bar would stand on the same line.
        progress.done()
        output.stderr(`line ${number}: ${problem}`)
      }
    }
  }
  await forEachBatch(operator, file, true, visit).finally(() => progress.done())
  return { lines, bad, unchanged }
}

/** Returns how many lines were imported by an earlier run, or by somebody else meanwhile. */
async function write(
  operator: Operator,
  file: string,
  bad: ReadonlySet<number>,
  onImported: (count: number) => void,
): Promise<number> {
  let unchanged = 0
  const waiting = new Waiting()
  try {
    // A credential that was taken meanwhile is refused by the store.
    await forEachBatch(operator, file, false, async (batch) => {
      const good: GoodLine[] = []
      for (const { number, checked } of batch) {
        if (checked === 'unchanged') unchanged++
        else if (checked === 'blank' || bad.has(number)) continue
        else if ('token' in checked) good.push({ number, token: checked.token })
        else {
          await waiting.all()
          await writeBatch(operator, good, onImported)
          throw lostRace(number, checked.problem)
        }
      }
      const writing = writeBatch(operator, good, onImported)
      await waiting.add(
        writing.then((there) => {
          unchanged += there
        }),
      )
    })
    await waiting.all()
  } finally {
    await waiting.ended()
  }
  return unchanged
}

/** Failures that one line can cause. After any other failure it is unknown what was written, so nothing is retried. */
const LINE_FAILURES = new Set<Failure['code']>(['duplicate-name', 'duplicate-credential', 'sub-account-forbidden'])

/** Returns how many lines somebody else has brought in since they were checked. */
async function writeBatch(
  operator: Operator,
  batch: readonly GoodLine[],
  onImported: (count: number) => void,
): Promise<number> {
  try {
    await operator.createTokens(
      batch.map(({ token }) => token),
      IMPORTED,
    )
    onImported(batch.length)
    return 0
  } catch (error) {
    if (!isOfLine(error)) throw error
  }
  let unchanged = 0
  for (const { number, token } of batch) {
    try {
      await operator.createTokens([token], IMPORTED)
      onImported(1)
    } catch (error) {
      if (!isOfLine(error)) throw error
      if ((await compareWithStore(operator, [token]))[0] !== 'unchanged') throw lostRace(number, error.message)
      unchanged++
    }
  }
  return unchanged
}

function isOfLine(error: unknown): error is Failure {
  return error instanceof Failure && LINE_FAILURES.has(error.code)
}

/** For a line that was valid when it was checked, before another writer took its name or credential. */
function lostRace(number: number, problem: string): OperatorError {
  return new OperatorError(
    `line ${number}: ${problem}. The lines before it are imported; fix it and run the import again.`,
  )
}

/** The lines of a batch are checked together. */
async function forEachBatch(
  operator: Operator,
  file: string,
  looksForCredentials: boolean,
  visit: (batch: readonly Line[]) => Promise<void> | void,
): Promise<void> {
  const check = makeChecker(operator, looksForCredentials)
  let first = 1
  let batch: Buffer[] = []
  const flush = async () => {
    const checked = await check(batch)
    await visit(batch.map((line, n) => ({ number: first + n, bytes: line.length + 1, checked: checked[n] ?? 'blank' })))
    first += batch.length
    batch = []
  }
  for await (const line of linesOf(file)) {
    batch.push(line)
    if (batch.length === BATCH) await flush()
  }
  await flush()
}
