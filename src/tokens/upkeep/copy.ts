// Takes a whole store to another one, of either engine: which rows there are, in which order they go over, and how it
// is known that all have arrived. Rows go as they are stored, stamps and sealed credentials untouched.
import { createHash, type Hash } from 'node:crypto'
import { OperatorError } from '../errors.ts'
import { STORED, type StoredRow, storedFields, type Table } from '../model/tables.ts'

/** A store that stands still for as long as it is open here: nobody else can change it. */
export interface StillStore {
  countRows(table: Table): Promise<number>
  /** The rows after one that was read before, in the order of the table's key. */
  readRows(table: Table, after: StoredRow | undefined, limit: number): Promise<readonly StoredRow[]>
  close(): Promise<void>
}

export interface CopySource extends StillStore {
  readonly storeSecret: Uint8Array
}

/** A store that is marked as half copied, so that nobody can serve it, until `finish`. */
export interface CopyTarget extends StillStore {
  /** What the source was like when this copy was begun; undefined when it begins now. */
  findBegun(): Promise<string | undefined>
  /** Removes what an earlier copy has brought, and notes what the source is like. */
  beginAnew(fingerprint: string): Promise<void>
  findLast(table: Table): Promise<StoredRow | undefined>
  /** All of the rows or none, with everything that follows from them. */
  writeRows(table: Table, rows: readonly StoredRow[]): Promise<void>
  finish(): Promise<void>
}

export interface CopyReport {
  readonly rows: number
  /** Rows that an earlier, interrupted copy had brought over. */
  readonly alreadyThere: number
  readonly tables: readonly TableSum[]
}

export interface TableSum {
  readonly table: string
  readonly rows: number
  /** SHA-256 of every field of every row, in order. */
  readonly checksum: string
}

export type Phase = 'Reading' | 'Copying' | 'Sealing' | 'Checking' | 'Tokens' | 'History'
export type OnPhase = (phase: Phase, rows: number) => (advancedBy: number) => void

const PART = 1_000

export async function copyStore(source: CopySource, target: CopyTarget, onPhase: OnPhase): Promise<CopyReport> {
  let rows = 0
  for (const table of STORED) rows += await source.countRows(table)
  const wanted = await sumUp(source, onPhase('Reading', rows))
  const fingerprint = fingerprintOf(wanted)
  if ((await target.findBegun()) !== fingerprint) await target.beginAnew(fingerprint)
  const alreadyThere = await copyRows(source, target, onPhase('Copying', rows))
  const found = await sumUp(target, onPhase('Checking', rows))
  const wrong = wanted.filter((sum, index) => JSON.stringify(sum) !== JSON.stringify(found[index]))
  if (wrong.length > 0) {
    const tables = wrong.map(({ table }) => table).join(', ')
    throw new OperatorError(`The copy differs from its source in ${tables}, and stays marked as unfinished.`)
  }
  await target.finish()
  return { rows, alreadyThere, tables: wanted }
}

/** Goes on after the last row that is there: rows are written in order, so that what is there is a beginning. */
async function copyRows(source: StillStore, target: CopyTarget, advance: (by: number) => void): Promise<number> {
  let alreadyThere = 0
  for (const table of STORED) {
    const there = await target.countRows(table)
    advance(there)
    alreadyThere += there
    for await (const part of partsOf(source, table, await target.findLast(table))) {
      await target.writeRows(table, part)
      advance(part.length)
    }
  }
  return alreadyThere
}

async function sumUp(store: StillStore, advance: (by: number) => void): Promise<readonly TableSum[]> {
  const sums: TableSum[] = []
  for (const table of STORED) {
    const hash = createHash('sha256')
    let rows = 0
    for await (const part of partsOf(store, table, undefined)) {
      for (const row of part) addRow(hash, table, row)
      rows += part.length
      advance(part.length)
    }
    sums.push({ table: table.name, rows, checksum: hash.digest('hex') })
  }
  return sums
}

/** The whole of a table, part by part. */
export async function* partsOf(
  store: Pick<StillStore, 'readRows'>,
  table: Table,
  from: StoredRow | undefined,
  size = PART,
): AsyncGenerator<readonly StoredRow[]> {
  let after = from
  for (;;) {
    const part = await store.readRows(table, after, size)
    if (part.length > 0) yield part
    if (part.length < size) return
    after = part.at(-1)
  }
}

/** JSON keeps the fields apart: no two rows are written alike. */
function addRow(hash: Hash, table: Table, row: StoredRow): void {
  const values = Object.keys(storedFields(table)).map((field) => {
    const value = row[field]
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
  })
  hash.update(`${JSON.stringify(values)}\n`)
}

function fingerprintOf(sums: readonly TableSum[]): string {
  return createHash('sha256').update(JSON.stringify(sums)).digest('hex')
}
