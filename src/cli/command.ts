// What commands share: where they do their work, opened while one command runs, and how their one result is printed.
import { type Command, Option } from 'commander'
import { type Latchkey, type OpenOptions, openLatchkey } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { MAX_LIMIT, type Page, type RawQuery, readPageRequest, toPage } from '../tokens/model/page.ts'
import { chooseServer, LOCAL, refuseServer } from './contexts.ts'
import type { Target } from './target.ts'
import { UsageError } from './terminal/exit-codes.ts'
import { Output, type Row, type Streams } from './terminal/output.ts'
import { warnOfPlainHttp } from './terminal/values.ts'
import { toRow } from './terminal/views.ts'

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
    command.option(...JSON_OPTION).action(() => {
      const output = new Output(streams, command.opts<{ json?: boolean }>().json === true)
      return withStore({ ...readProcessConfig(), ...settings }, { patient, mayCreateStore }, (latchkey) =>
        run(latchkey, command.opts(), output, command.args[0] ?? ''),
      )
    })
  }

async function withStore(config: Config, options: OpenOptions, work: (latchkey: Latchkey) => Promise<void>) {
  const latchkey = await openLatchkey(config, options)
  try {
    await work(latchkey)
  } finally {
    await latchkey.store.close()
  }
}

type Run<Options> = (target: Target, options: Options, output: Output, argument: string) => Promise<void>
type ListAsCsv<Options> = (target: Target, filters: Options & RawQuery, argument: string) => AsyncIterable<string>

/** Defines what a command does on the server or store that is chosen. A command that prints a list can print it as CSV, too. */
export type OnTarget = <Options extends object>(
  command: Command,
  run: Run<Options>,
  listAsCsv?: ListAsCsv<Options>,
) => void

export const onTargetWith =
  (streams: Streams): OnTarget =>
  (command, run, listAsCsv) => {
    if (listAsCsv !== undefined) command.option(...CSV_OPTION)
    mayRunAnywhere(command.option(...JSON_OPTION)).action(async () => {
      const { account, json = false, csv = false, ...options } = command.opts<SharedOptions>()
      if (json && csv) throw new UsageError('--json and --csv exclude each other')
      const output = new Output(streams, json)
      const [argument = ''] = command.args
      await onChosen(command, account, output, (target) =>
        listAsCsv !== undefined && csv
          ? output.pass(listAsCsv(target, filtersOf(command, options) as never, argument))
          : run(target, options as never, output, argument),
      )
    })
  }

async function onChosen(
  command: Command,
  account: string | undefined,
  output: Output,
  work: (target: Target) => Promise<void>,
): Promise<void> {
  const config = readProcessConfig()
  const server = chooseServer(config, contextNameOf(command))
  // Either is loaded only where it is needed.
  if (server === undefined) {
    const { LocalTarget } = await import('./local-target.ts')
    return withStore(config, { mayCreateStore: false }, (latchkey) => work(new LocalTarget(latchkey, account)))
  }
  warnOfPlainHttp(output, server.url)
  const { explainRefusal, ServerTarget } = await import('./server-target.ts')
  try {
    const target = new ServerTarget(server)
    await work(account === undefined ? target : await target.inAccount(account))
  } catch (error) {
    throw explainRefusal(error, server)
  }
}

const CSV_OPTION = ['--csv', 'print all that the filters match, as CSV'] as const

interface SharedOptions {
  readonly account?: string
  readonly json?: boolean
  readonly csv?: boolean
}

/** What was typed, with the names that the API has: pages have defaults, and CSV has no pages. */
function filtersOf(command: Command, options: object): RawQuery {
  const typed = Object.entries(options).filter(([name]) => command.getOptionValueSource(name) !== 'default')
  return Object.fromEntries(typed.map(([name, value]) => [name === 'subAccount' ? 'subAccountId' : name, value]))
}

const ANYWHERE = new WeakSet<Command>()

/** All other commands work on the local store only. */
export function mayRunAnywhere(command: Command): Command {
  ANYWHERE.add(command)
  return command
}

export const isLocalOnly = (command: Command): boolean => !ANYWHERE.has(command)

export function requireLocal(command: Command): void {
  if (!isLocalOnly(command)) return
  const names = [command.parent?.parent ? command.parent.name() : '', command.name()]
  refuseServer(readProcessConfig(), contextNameOf(command), names.join(' ').trim())
}

export const CONTEXT_OPTION = new Option(
  '--context <name>',
  `ask this server, or \`${LOCAL}\` for the local store; see \`latchkey context --help\``,
)

function contextNameOf(command: Command): string | undefined {
  return command.optsWithGlobals<{ context?: string }>().context
}

export function addAccount(command: Command, what = 'the account'): Command {
  return command.option('--account <id>', `${what}; needed on the local store only: a key has its own`)
}

/** One object. */
export function show(output: Output, document: object, fields: Row = toRow(document)): void {
  output.result(document, { fields })
}

/** The domain checks the values, as over HTTP. */
export function addPaging(command: Command): Command {
  return command
    .option('--page <n>', 'which page; 1 unless set')
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
  const position = totalPages > 1 ? `; this is page ${page} of ${totalPages}` : ''
  return `${total} ${noun}${total === 1 ? '' : 's'}${position}`
}

/** Of a list that is short enough to be read as a whole. */
export function pageOf<Item>(all: readonly Item[], query: RawQuery): Page<Item> {
  const { page, limit } = readPageRequest(query)
  return toPage({ items: all.slice((page - 1) * limit, page * limit), total: all.length }, { page, limit })
}
