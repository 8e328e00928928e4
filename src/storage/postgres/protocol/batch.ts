// Sends several statements to PostgreSQL in one write, and reads their answers. The driver's own query is one statement, and
// describes its columns each time, which costs this process more than the handling of the answer.
import { hash } from 'node:crypto'
import pg from 'pg'
import { Recent } from '../../../tokens/model/clock-cache.ts'
import { asBuffer } from '../../../tokens/trust/vault.ts'

export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | null | Uint8Array)[]

export interface Statement {
  readonly text: string
  /** Prepared under a name, and kept on the connection; without a name the statement is planned each time. */
  readonly isNamed: boolean
  readonly values: readonly Value[]
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The fields of a row, in the protocol's text form. */
export type Fields = readonly (string | null)[]

export interface Answer {
  readonly columns: Columns
  readonly rows: readonly Fields[]
  /** Such as `UPDATE 1`. */
  readonly tag: string
}

const INT8 = 20

/** Statements that a connection keeps prepared, which takes PostgreSQL up to 0.2 MB each. */
export const MAX_STATEMENTS = 100

/** The int8 columns are times and counts, which all fit a number. */
export function typeParser(type: number): (text: string) => unknown {
  return type === INT8 ? Number : pg.types.getTypeParser(type, 'text')
}

export class Columns {
  readonly #names: readonly string[]
  readonly #parsers: readonly ((text: string) => unknown)[]

  constructor(fields: readonly pg.FieldDef[]) {
    this.#names = fields.map(({ name }) => name)
    this.#parsers = fields.map(({ dataTypeID }) => typeParser(dataTypeID))
  }

  toRow(fields: Fields): Record<string, unknown> {
    const values = this.toValues(fields)
    return Object.fromEntries(this.#names.map((name, i) => [name, values[i]]))
  }

  /** The values of the columns from this one on. */
  toValues(fields: Fields, from = 0): unknown[] {
    const values: unknown[] = []
    for (let i = from; i < fields.length; i++) {
      const field = fields[i] as string | null
      values.push(field === null ? null : this.#parsers[i]?.(field))
    }
    return values
  }
}

/** Another statement of the batch has failed, and its error is the cause: this one was rolled back. */
export class Undone extends Error {
  override readonly name = 'Undone'
}

interface Prepared {
  readonly name: string
  readonly columns: Columns
}

/** The statements that a connection keeps prepared, by their texts. */
class PreparedStatements {
  /** The names that the server may know and need not. */
  readonly #unused = new Set<string>()
  readonly #kept = new Recent<string, Prepared>(MAX_STATEMENTS, ({ name }) => this.drop(name))

  find(text: string): Prepared | undefined {
    return this.#kept.get(text)
  }

  keep(text: string, prepared: Prepared): void {
    this.#unused.delete(prepared.name)
    this.#kept.set(text, prepared)
  }

  drop(name: string): void {
    this.#unused.add(name)
  }

  closeUnused(connection: pg.Connection): void {
    for (const name of this.#unused) connection.close({ type: 'S', name }, true)
    this.#unused.clear()
  }
}

const preparedOn = new WeakMap<pg.Connection, PreparedStatements>()

function nameOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}

const NO_COLUMNS = new Columns([])

/**
 * The statements run one after the other, each on its own snapshot. When one fails, the later ones do not run and, outside a
 * transaction, the earlier ones are rolled back.
 */
export class Batch {
  readonly statements: readonly Statement[]
  readonly #onEnd: () => void
  readonly #answers: Answer[] = []
  /** As they were when the batch was sent; undefined where the statement is prepared by the batch. */
  readonly #known: (Prepared | undefined)[] = []
  #prepared = new PreparedStatements()
  #columns: Columns | undefined
  #rows: Fields[] = []

  constructor(statements: readonly Statement[], onEnd: () => void) {
    this.statements = statements
    this.#onEnd = onEnd
  }

  /** The driver calls this and the handle… methods. */
  submit(connection: pg.Connection): void {
    this.#prepared = preparedOn.get(connection) ?? this.#prepared
    preparedOn.set(connection, this.#prepared)
    connection.stream.cork()
    this.#prepared.closeUnused(connection)
    for (const statement of this.statements) this.#send(connection, statement)
    connection.sync()
    connection.stream.uncork()
  }

  #send(connection: pg.Connection, { text, isNamed, values }: Statement): void {
    const known = isNamed ? this.#prepared.find(text) : undefined
    this.#known.push(known)
    const name = known?.name ?? (isNamed ? nameOf(text) : '')
    if (known === undefined) {
      // A batch may have the same statement twice.
      if (isNamed) connection.close({ type: 'S', name }, true)
      connection.parse({ name, text, types: [] }, true)
    }
    connection.bind({ statement: name, values: values.map(toWire) }, true)
    if (known === undefined) connection.describe({ type: 'P', name: '' }, true)
    connection.execute(null, true)
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#columns = new Columns(fields)
  }

  handleDataRow({ fields }: { fields: Fields }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text: tag }: { text: string }): void {
    const known = this.#known[this.#answers.length]
    const columns = known?.columns ?? this.#columns ?? NO_COLUMNS
    const { text, isNamed } = this.#current as Statement
    if (isNamed && known === undefined) this.#prepared.keep(text, { name: nameOf(text), columns })
    this.#answers.push({ columns, rows: this.#rows, tag })
    this.#columns = undefined
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.#onEnd()
    for (const [i, answer] of this.#answers.entries()) this.statements[i]?.resolve(answer)
  }

  handleError(error: unknown): void {
    // If the connection or the end of the batch fails, all statements get the error.
    const failed = error instanceof pg.DatabaseError ? this.#current : undefined
    const undone = failed && new Undone('another statement has failed', { cause: error })
    this.#dropUnanswered()
    this.#onEnd()
    for (const statement of this.statements) statement.reject(statement === failed ? error : (undone ?? error))
  }

  /** Statements that were to be prepared, and may or may not have been. */
  #dropUnanswered(): void {
    for (const [i, { text, isNamed }] of this.statements.entries()) {
      if (isNamed && i >= this.#answers.length && this.#known[i] === undefined) this.#prepared.drop(nameOf(text))
    }
  }

  /** The statement whose answer is being read. */
  get #current(): Statement | undefined {
    return this.statements[this.#answers.length]
  }

  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
}

function toWire(value: Value): string | Buffer | null {
  if (value === null || typeof value === 'string') return value
  if (value instanceof Uint8Array) return asBuffer(value)
  return Array.isArray(value) ? `{${value.map(toElement).join(',')}}` : String(value)
}

function toElement(value: string | number | null | Uint8Array): string {
  if (value === null) return 'NULL'
  if (typeof value === 'number') return String(value)
  if (value instanceof Uint8Array) return `"\\\\x${asBuffer(value).toString('hex')}"`
  return `"${value.replace(/[\\"]/g, '\\$&')}"`
}
