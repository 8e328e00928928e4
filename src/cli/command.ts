// What commands share: opening the store while one command runs, and printing its one result.
import type { Command } from 'commander'
import { type Latchkey, openLatchkey, requireStore } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { MAX_LIMIT, type Page } from '../tokens/model/page.ts'
import { Output, type Streams, type Table } from './output.ts'
import type { Told } from './tell.ts'

export const JSON_OPTION = ['--json', 'print one JSON document'] as const

export type Work<Options> = (latchkey: Latchkey, options: Options, output: Output, argument: string) => Promise<void>

interface How {
  /** Override the configuration. */
  readonly settings?: Partial<Config>
  /** For the commands that may begin a new store. Any other one would create an empty store in a mistyped folder. */
  readonly mayMakeStore?: boolean
  /** For bulk work: see `openLatchkey`. */
  readonly patient?: boolean
}

/** Turns a piece of work into a command's action: opens the store for it, and closes the store again. */
export type OnStore = <Options extends object>(
  work: Work<Options>,
  how?: How,
) => (...received: unknown[]) => Promise<void>

export const onStoreWith =
  (streams: Streams): OnStore =>
  <Options extends object>(work: Work<Options>, { settings = {}, mayMakeStore = false, patient = false }: How = {}) =>
  async (...received: unknown[]) => {
    const command = received.at(-1) as Command
    const argument = typeof received[0] === 'string' ? received[0] : ''
    const options = command.opts<Options & { json?: boolean }>()
    const config = { ...readProcessConfig(), ...settings }
    if (!mayMakeStore) requireStore(config)
    const latchkey = await openLatchkey(config, { patient })
    try {
      await work(latchkey, options, new Output(streams, options.json === true), argument)
    } finally {
      await latchkey.store.close()
    }
  }

export function show(output: Output, thing: Told): void {
  output.result(thing, { rows: [flat(thing)] })
}

export function showAll(output: Output, things: readonly Told[], none: string): void {
  output.result(things, things.length === 0 ? { title: none } : { rows: things.map(flat) })
}

/** The options of a list. Their values are checked by the domain, as over HTTP. */
export function addPaging(command: Command): Command {
  return command
    .option('--page <n>', 'which page', '1')
    .option('--limit <n>', `how many on a page, at most ${MAX_LIMIT}`, `${MAX_LIMIT}`)
    .option(...JSON_OPTION)
}

export function showPage(output: Output, page: Page<Told>, what: string): void {
  output.result(page, { title: pageTitle(page, what), rows: page.items.map(flat) })
}

export function pageTitle({ total, totalPages, page }: Page<unknown>, what: string): string {
  const place = totalPages > 1 ? `; this is page ${page} of ${totalPages}` : ''
  return `${total} ${what}${total === 1 ? '' : 's'}${place}`
}

/** As a row of a table: an embedded object by its name, counts in words. */
function flat(thing: Told): Table[number] {
  const cell = (value: Told[string]) => {
    if (typeof value === 'boolean') return value ? 'yes' : 'no'
    if (value === null || typeof value !== 'object') return value
    return (
      value.name ??
      Object.entries(value)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')
    )
  }
  return Object.fromEntries(Object.entries(thing).map(([name, value]) => [name, cell(value)]))
}
