// Copies a store to another one, of either engine, and compares checksums afterwards. Rows are copied as they are stored,
// with stamps and sealed credentials unchanged.
import { createHash, type Hash } from 'node:crypto'
import { OperatorError } from '../model/errors.ts'
import { type StoredRow, storedFields, type Table } from '../model/table.ts'
import { VAULT } from '../model/tables.ts'
import { keyIdOf } from '../trust/vault.ts'
import { STORED } from './stored.ts'

/** A store that nobody else can change while it is open here. */
export interface LockedStore {
  countRows(table: Table): Promise<number>
  /** The rows after one that was read before, in the order of the table's key. */
  readRows(table: Table, after: StoredRow | undefined, limit: number): Promise<readonly StoredRow[]>
  close(): Promise<void>
}

export interface CopySource extends LockedStore {
  readonly storeSecret: Uint8Array
}

/** A store that is marked as unfinished, so that no server opens it, until `finish`. */
export interface CopyTarget extends LockedStore {
  /** The source's fingerprint when this copy was started; undefined for a new copy. */
  findFingerprint(): Promise<string | undefined>
  /** Removes the rows of an earlier copy, and stores the source's fingerprint. */
  restart(fingerprint: string): Promise<void>
  findLast(table: Table): Promise<StoredRow | undefined>
  /** All of the rows or none, including index entries. */
  writeRows(table: Table, rows: readonly StoredRow[]): Promise<void>
  finish(): Promise<void>
}

export interface CopyReport {
  readonly rows: number
  /** Rows from an earlier, interrupted copy. */
  readonly alreadyThere: number
  readonly tables: readonly TableSum[]
}

interface TableSum {
  readonly table: string
  readonly rows: number
  /** SHA-256 of every field of every row, in order. */
  readonly checksum: string
}

type Phase = 'Reading' | 'Copying' | 'Sealing' | 'Checking' | 'Tokens' | 'History'
export type OnPhase = (phase: Phase, rows: number) => (advancedBy: number) => void

const PART = 1_000

export async function copyStore(source: CopySource, target: CopyTarget, onPhase: OnPhase): Promise<CopyReport> {
  let rows = 0
  for (const table of STORED) rows += await source.countRows(table)
  const wanted = await checksums(source, onPhase('Reading', rows))
  const fingerprint = createHash('sha256').update(JSON.stringify(wanted)).digest('hex')
  if ((await target.findFingerprint()) !== fingerprint) await target.restart(fingerprint)
  const alreadyThere = await copyRows(source, target, onPhase('Copying', rows))
  const found = await checksums(target, onPhase('Checking', rows))
  const wrong = wanted.filter((sum, index) => JSON.stringify(sum) !== JSON.stringify(found[index]))
  if (wrong.length > 0) {
    const tables = wrong.map(({ table }) => table).join(', ')
    throw new OperatorError(`The copy differs from its source in ${tables}, and stays marked as unfinished.`)
  }
  await target.finish()
  return { rows, alreadyThere, tables: wanted }
}

/** Continues after the target's last row: rows are written in order. */
async function copyRows(source: LockedStore, target: CopyTarget, advance: (by: number) => void): Promise<number> {
  let alreadyThere = 0
  const [vault] = await source.readRows(VAULT, undefined, 1)
  for (const table of STORED) {
    const there = await target.countRows(table)
    advance(there)
    alreadyThere += there
    for await (const part of partsOf(source, table, await target.findLast(table))) {
      if ('sealed' in table.fields) requireSealed(part, vault)
      await target.writeRows(table, part)
      advance(part.length)
    }
  }
  return alreadyThere
}

/** After a restore of a backup from before a rotation of the master key, a credential may be sealed with the later key. */
function requireSealed(rows: readonly StoredRow[], vault: StoredRow | undefined): void {
  const values = rows
    .flatMap(({ sealed, formerSealed }) => [sealed, formerSealed])
    .filter((each) => each instanceof Uint8Array)
  if (values.every((sealed) => keyIdOf(sealed) === vault?.keyId)) return
  throw new OperatorError(
    'A credential is sealed with another master key than the store. Run `latchkey master-key rotate` with both keys, or rotate ' +
      'the tokens that `latchkey doctor` names, then run the same `latchkey copy` again.',
  )
}

async function checksums(store: LockedStore, advance: (by: number) => void): Promise<readonly TableSum[]> {
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

/** All rows of a table after `from`, in parts. */
export async function* partsOf(
  store: Pick<LockedStore, 'readRows'>,
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

/** JSON separates the fields, so that different rows never have the same text. */
function addRow(hash: Hash, table: Table, row: StoredRow): void {
  const values = Object.keys(storedFields(table)).map((field) => {
    const value = row[field]
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
  })
  hash.update(`${JSON.stringify(values)}\n`)
}
