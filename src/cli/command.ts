// What commands share: opening the store while one command runs, and printing its one result.
import type { Command } from 'commander'
import { type Latchkey, openLatchkey } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { MAX_LIMIT, type Page } from '../tokens/model/page.ts'
import { Output, type Streams, type Table } from './output.ts'
import type { View } from './views.ts'

export const JSON_OPTION = ['--json', 'print one JSON document'] as const

interface StoreOptions {
  /** Override the configuration. */
  readonly settings?: Partial<Config>
  /** Other commands must not create an empty store in a mistyped folder. */
  readonly mayCreateStore?: boolean
  /** For bulk work: see `openLatchkey`. */
  readonly patient?: boolean
}

/** Defines what a command does with the open store. `argument` is the command's argument, if it has one. */
export type OnStore = <Options extends object>(
  command: Command,
  run: (latchkey: Latchkey, options: Options, output: Output, argument: string) => Promise<void>,
  storeOptions?: StoreOptions,
) => void

export const onStoreWith =
  (streams: Streams): OnStore =>
  (command, run, { settings = {}, mayCreateStore = false, patient = false } = {}) => {
    command.option(...JSON_OPTION).action(async () => {
      const config = { ...readProcessConfig(), ...settings }
      const latchkey = await openLatchkey(config, { patient, mayCreateStore })
      try {
        const output = new Output(streams, command.opts<{ json?: boolean }>().json === true)
        await run(latchkey, command.opts(), output, command.args[0] ?? '')
      } finally {
        await latchkey.store.close()
      }
    })
  }

export function show(output: Output, view: View): void {
  output.result(view, { rows: [toRow(view)] })
}

export function showAll(output: Output, views: readonly View[], ifEmpty: string): void {
  output.result(views, views.length === 0 ? { title: ifEmpty } : { rows: views.map(toRow) })
}

/** The domain checks the values, as over HTTP. */
export function addPaging(command: Command): Command {
  return command
    .option('--page <n>', 'which page', '1')
    .option('--limit <n>', `how many on a page, at most ${MAX_LIMIT}`, `${MAX_LIMIT}`)
}

export function showPage(output: Output, page: Page<View>, noun: string): void {
  output.result(page, { title: pageTitle(page, noun), rows: page.items.map(toRow) })
}

export function pageTitle({ total, totalPages, page }: Page<unknown>, noun: string): string {
  const place = totalPages > 1 ? `; this is page ${page} of ${totalPages}` : ''
  return `${total} ${noun}${total === 1 ? '' : 's'}${place}`
}

/** A sub-account is shown by its name, counts of tokens as a list, all else as JSON, such as metadata of any shape. */
function toRow(view: View): Table[number] {
  const cell = (name: string, value: View[string]) => {
    if (typeof value === 'boolean') return value ? 'yes' : 'no'
    if (value === null || typeof value !== 'object') return value
    if (name === 'subAccount' && 'name' in value) return String(value.name)
    if (name !== 'tokens') return JSON.stringify(value)
    return Object.entries(value)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')
  }
  return Object.fromEntries(Object.entries(view).map(([name, value]) => [name, cell(name, value)]))
}
