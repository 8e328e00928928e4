// Prints results: lines and tables for people, one JSON document for scripts, and no terminal control characters.
import type { Writable } from 'node:stream'
import { STEERING_CHARACTERS } from '../../tokens/model/token.ts'

export interface Streams {
  /** A getter in production: other commands must not open standard input, or they would wait for a terminal. */
  readonly stdin?: AsyncIterable<string | Uint8Array> & { readonly isTTY?: boolean }
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean } & Partial<
    Pick<Writable, 'writable' | 'once'>
  >
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
}

const UNPRINTABLE = new RegExp(`${STEERING_CHARACTERS.source}|\\p{Cs}`, 'gu')

/** Replaces control characters by their code points. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

type Cell = string | number | null | undefined
export type Row = Readonly<Record<string, Cell>>
export type Table = readonly Row[]

export class Output {
  readonly #streams: Streams
  readonly json: boolean

  constructor(streams: Streams, json: boolean) {
    this.#streams = streams
    this.json = json
  }

  /** The one result of a command: `data` for scripts; for people a title, the fields of one object, a table. */
  result(data: unknown, people: { readonly title?: string; readonly fields?: Row; readonly rows?: Table }): void {
    if (this.json) {
      this.#streams.stdout.write(`${JSON.stringify(data)}\n`)
      return
    }
    if (people.title !== undefined) this.line(people.title)
    if (people.fields !== undefined) this.#streams.stdout.write(formatLines(people.fields))
    if (people.rows !== undefined && people.rows.length > 0) this.#streams.stdout.write(formatTable(people.rows))
  }

  /** For people only. */
  line(text: string): void {
    if (!this.json) this.#streams.stdout.write(`${printable(text)}\n`)
  }

  /** For pino: one line of the log. */
  write(line: string): void {
    this.#streams.stdout.write(line)
  }

  /** As fast as it is taken; ends early where nobody reads any more, such as `head`. */
  async pass(texts: AsyncIterable<string>): Promise<void> {
    const { stdout } = this.#streams
    for await (const text of texts) {
      if (stdout.writable === false) return
      if (stdout.write(text) !== false) continue
      await new Promise((resolve) => void stdout.once?.('drain', resolve).once('close', resolve))
    }
  }

  get isTerminal(): boolean {
    return this.#streams.stdout.isTTY === true
  }

  stderr(text: string): void {
    this.#streams.stderr.write(`${printableLines(text)}\n`)
  }

  get showsProgress(): boolean {
    return !this.json && this.#streams.stderr.isTTY === true
  }
}

/** One object, however many fields it has, in lines that no terminal has to break in the middle of a table. */
function formatLines(row: Row): string {
  return formatCells(Object.entries(row).map(([name, value]) => [name, shown(value)]))
}

export function formatTable(rows: Table): string {
  const columns = Object.keys(rows[0] ?? {})
  return formatCells([columns, ...rows.map((row) => columns.map((column) => shown(row[column])))])
}

const shown = (value: Cell) => printable(String(value ?? '-'))

function formatCells(cells: readonly (readonly string[])[]): string {
  const widths = (cells[0] ?? []).map((_, index) =>
    cells.reduce((widest, line) => Math.max(widest, widthOf(line[index] ?? '')), 0),
  )
  const lines = cells.map((line) =>
    line.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell))).join('  '),
  )
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u

/** Terminal columns, roughly: East Asian wide characters and emoji take two, combining marks none. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) {
    if (/\p{Mark}|\u200d/u.test(character)) continue
    width += WIDE.test(character) ? 2 : 1
  }
  return width
}
