// Statements that go to PostgreSQL in one write, and their answers. The driver's own query is one statement, described each
// time: the write and the description cost this process more than everything that is done with the answer.
import pg from 'pg'

export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | null | Uint8Array)[]

export interface Statement {
  readonly text: string
  /** Prepared under this name, once on each connection; without one it is planned each time. */
  readonly name?: string | undefined
  readonly values: readonly Value[]
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The fields of a row, as text, as the protocol has them. */
export type Fields = readonly (string | null)[]

export interface Answer {
  readonly columns: Columns
  readonly rows: readonly Fields[]
  /** Such as `UPDATE 1`. */
  readonly tag: string
}

const INT8 = 20

/** int8 holds times and counts, all of which fit a number. */
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

/** The statement was rolled back, since another one of its batch has failed: that error is the cause. */
export class Undone extends Error {
  override readonly name = 'Undone'
}

/** The columns of the statements that are prepared on each connection. */
const prepared = new WeakMap<pg.Connection, Map<string, Columns>>()

const NO_COLUMNS = new Columns([])

/**
 * The statements run one after the other, each on a snapshot of its own. When one fails those after it are not begun, and
 * outside a transaction those before it are undone.
 */
export class Batch {
  readonly statements: readonly Statement[]
  readonly #onEnd: () => void
  readonly #answers: Answer[] = []
  #prepared = new Map<string, Columns>()
  #columns: Columns | undefined
  #rows: Fields[] = []

  constructor(statements: readonly Statement[], onEnd: () => void) {
    this.statements = statements
    this.#onEnd = onEnd
  }

  /** The driver calls this method and all that follow. */
  submit(connection: pg.Connection): void {
    this.#prepared = prepared.get(connection) ?? this.#prepared
    prepared.set(connection, this.#prepared)
    connection.stream.cork()
    for (const statement of this.statements) this.#send(connection, statement)
    connection.sync()
    connection.stream.uncork()
  }

  #send(connection: pg.Connection, { text, name = '', values }: Statement): void {
    const known = this.#prepared.has(name)
    if (!known) {
      // A batch that failed may have prepared the statement, or not.
      if (name !== '') connection.close({ type: 'S', name }, true)
      connection.parse({ name, text, types: [] }, true)
    }
    connection.bind({ statement: name, values: values.map(toWire) }, true)
    if (!known) connection.describe({ type: 'P', name: '' }, true)
    connection.execute(null, true)
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#columns = new Columns(fields)
  }

  handleDataRow({ fields }: { fields: Fields }): void {
    this.#rows.push(fields)
  }

  handleCommandComplete({ text: tag }: { text: string }): void {
    const name = this.#current?.name ?? ''
    const columns = this.#columns ?? this.#prepared.get(name) ?? NO_COLUMNS
    if (name !== '') this.#prepared.set(name, columns)
    this.#answers.push({ columns, rows: this.#rows, tag })
    this.#columns = undefined
    this.#rows = []
  }

  handleReadyForQuery(): void {
    this.#onEnd()
    for (const [i, answer] of this.#answers.entries()) this.statements[i]?.resolve(answer)
  }

  handleError(error: unknown): void {
    // Where the end of the batch or the connection fails, no single statement has: all of them get the error.
    const failed = error instanceof pg.DatabaseError ? this.#current : undefined
    const undone = failed && new Undone('another statement has failed', { cause: error })
    this.#onEnd()
    for (const statement of this.statements) statement.reject(statement === failed ? error : (undone ?? error))
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

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
