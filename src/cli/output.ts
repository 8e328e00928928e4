// What the command line prints: tables for people, one JSON document for scripts, and nothing that moves a cursor.
import { STEERING_CHARACTERS } from '../tokens/token.ts'

export interface Streams {
  /** Asked for by the few commands that read: a terminal is not to wait for anybody else. */
  readonly stdin?: AsyncIterable<string | Uint8Array> & { readonly isTTY?: boolean }
  readonly stdout: { write(text: string): unknown }
  readonly stderr: { write(text: string): unknown; readonly isTTY?: boolean }
}

const UNPRINTABLE = new RegExp(`${STEERING_CHARACTERS.source}|\\p{Cs}`, 'gu')

/** Text as it may be shown on a terminal: what would steer it is shown by its number. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

export type Cell = string | number | null | undefined
export type Table = readonly Readonly<Record<string, Cell>>[]

export class Output {
  readonly #streams: Streams
  readonly json: boolean

  constructor(streams: Streams, json: boolean) {
    this.#streams = streams
    this.json = json
  }

  /** The one result of a command: `data` for scripts, the rest for people. */
  result(data: unknown, people: { readonly title?: string; readonly rows?: Table }): void {
    if (this.json) {
      this.#streams.stdout.write(`${JSON.stringify(data)}\n`)
      return
    }
    if (people.title !== undefined) this.line(people.title)
    if (people.rows !== undefined && people.rows.length > 0) this.#streams.stdout.write(formatTable(people.rows))
  }

  /** For people only. */
  line(text: string): void {
    if (!this.json) this.#streams.stdout.write(`${printable(text)}\n`)
  }

  /** Of several lines, where there are steps to take. */
  problem(text: string): void {
    this.#streams.stderr.write(`${printableLines(text)}\n`)
  }

  get showsProgress(): boolean {
    return !this.json && this.#streams.stderr.isTTY === true
  }
}

export function formatTable(rows: Table): string {
  const columns = Object.keys(rows[0] ?? {})
  const cells = [columns, ...rows.map((row) => columns.map((column) => printable(String(row[column] ?? '-'))))]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => widthOf(line[index] ?? ''))))
  const lines = cells.map((line) =>
    line.map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - widthOf(cell))).join('  '),
  )
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`
}

/** Good enough to align: East Asian wide characters and emoji take two columns, combining marks none. */
function widthOf(text: string): number {
  let width = 0
  for (const character of text) {
    if (/\p{Mark}|\u200d/u.test(character)) continue
    width +=
      /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u.test(
        character,
      )
        ? 2
        : 1
  }
  return width
}
