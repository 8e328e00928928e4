// Documents as lines of CSV (RFC 4180, UTF-8), which spreadsheets can open without running anything.

/** The names of the columns: fields of the documents; `subAccount.name` is a field of a field. */
export type Columns = readonly string[]

/** What a spreadsheet takes for a formula. The prefix itself has one too, so that it can be removed without a doubt. */
const STARTS_FORMULA = /^[=+\-@＝＋－＠\t\r\n']/
const NEEDS_QUOTES = /[",\r\n]/

export function csvHeader(columns: Columns): string {
  return lineOf(columns)
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
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return STARTS_FORMULA.test(text) ? `'${text}` : text
}
