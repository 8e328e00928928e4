// What commands share: where they do their work, opened while one command runs, and how their one result is printed.
import type { Command } from 'commander'
import { type Latchkey, openLatchkey } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { MAX_LIMIT, type Page, type RawQuery, readPageRequest, toPage } from '../tokens/model/page.ts'
import { LocalManagement } from './local-management.ts'
import type { Management } from './management.ts'
import { Output, type Row, type Streams } from './output.ts'
import { toRow } from './views.ts'

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

/** Defines what a command does with what it manages, wherever that is. */
export type Manage = <Options extends object>(
  command: Command,
  run: (management: Management, options: Options, output: Output, argument: string) => Promise<void>,
) => void

export const manageWith =
  (onStore: OnStore): Manage =>
  (command, run) => {
    onStore<{ account?: string; json?: boolean }>(command, async (latchkey, given, output, argument) => {
      const { account, json: _json, ...options } = given
      await run(new LocalManagement(latchkey, account), options as never, output, argument)
    })
  }

export function addAccount(command: Command, what = 'the account'): Command {
  return command.option('--account <id>', `${what}; needed on the local store, where no key says which`)
}

/** One object. */
export function show(output: Output, document: object, fields: Row = toRow(document)): void {
  output.result(document, { fields })
}

/** The domain checks the values, as over HTTP. */
export function addPaging(command: Command): Command {
  return command
    .option('--page <n>', 'which page', '1')
    .option('--limit <n>', `how many on a page, at most ${MAX_LIMIT}`, `${MAX_LIMIT}`)
}

export function showPage<Item extends object>(
  output: Output,
  page: Page<Item>,
  noun: string,
  rowOf: (item: Item) => Row = toRow,
): void {
  output.result(page, { title: pageTitle(page, noun), rows: page.items.map(rowOf) })
}

function pageTitle({ total, totalPages, page }: Page<unknown>, noun: string): string {
  const place = totalPages > 1 ? `; this is page ${page} of ${totalPages}` : ''
  return `${total} ${noun}${total === 1 ? '' : 's'}${place}`
}

/** Of a list that is short enough to be read as a whole. */
export function pageOf<Item>(all: readonly Item[], query: RawQuery): Page<Item> {
  const { page, limit } = readPageRequest(query)
  return toPage({ items: all.slice((page - 1) * limit, page * limit), total: all.length }, { page, limit })
}
