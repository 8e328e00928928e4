// Documents as lines of CSV (RFC 4180, UTF-8), which spreadsheets can open without running anything.

/** The names of the columns: fields of the documents; `subAccount.name` is a field of a field. */
export type Columns = readonly string[]

/**
 * Where a spreadsheet may take what follows for a formula: at the beginning of a cell, and after each character at which it may divide
 * lines, depending on its settings. The prefix itself counts too, so that it can be removed without a doubt.
 */
const BEFORE_FORMULA = /(^|[;\t\r\n])(?=[ "]*[=+\-@＝＋－＠\t\r\n'])/g
const NEEDS_QUOTES = /[",;\t\r\n]/
/** Without it, spreadsheets take UTF-8 for another encoding. */
const BYTE_ORDER_MARK = '\ufeff'

export function csvHeader(columns: Columns): string {
  return BYTE_ORDER_MARK + lineOf(columns)
}

export function csvLines(columns: Columns, documents: readonly object[]): string {
  return documents.map((document) => lineOf(columns.map((column) => cellOf(fieldOf(document, column))))).join('')
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map((cell) => (NEEDS_QUOTES.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\r\n`
}

function fieldOf(document: object, column: string): unknown {
  return column
    .split('.')
    .reduce<unknown>((value, name) => (value as Readonly<Record<string, unknown>> | null)?.[name], document)
}

/** What is null is empty, and what has fields or elements is JSON. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  if (value instanceof Date) return value.toISOString()
  // As an escape, a semicolon divides nothing and remains JSON.
  if (typeof value !== 'string') return JSON.stringify(value).replaceAll(';', '\\u003b')
  return value.replace(BEFORE_FORMULA, "$1'")
}
