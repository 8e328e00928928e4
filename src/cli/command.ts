// What commands share: opening the store for the length of one command, and telling its one result.
import type { Command } from 'commander'
import { type Latchkey, openLatchkey, requireStore } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { Output, type Streams, type Table } from './output.ts'
import type { Told } from './tell.ts'

export const JSON_OPTION = ['--json', 'print one JSON document'] as const

export type Work<Options> = (latchkey: Latchkey, options: Options, output: Output, argument: string) => Promise<void>

interface How {
  /** Win over the configuration. */
  readonly settings?: Partial<Config>
  /** For what a new store begins with. Everything else would make one where the wrong folder is named, and find it empty. */
  readonly mayMakeStore?: boolean
}

/** Makes an action of a piece of work: opens the store for it and closes it again. */
export type OnStore = <Options extends object>(
  work: Work<Options>,
  how?: How,
) => (...received: unknown[]) => Promise<void>

export const onStoreWith =
  (streams: Streams): OnStore =>
  <Options extends object>(work: Work<Options>, { settings = {}, mayMakeStore = false }: How = {}) =>
  async (...received: unknown[]) => {
    const command = received.at(-1) as Command
    const argument = typeof received[0] === 'string' ? received[0] : ''
    const options = command.opts<Options & { json?: boolean }>()
    const config = { ...readProcessConfig(), ...settings }
    if (!mayMakeStore) requireStore(config)
    const latchkey = await openLatchkey(config)
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

/** What a table can show: an embedded object by its name. */
function flat(thing: Told): Table[number] {
  const cells = Object.entries(thing).map(([name, value]) => [
    name,
    value !== null && typeof value === 'object' ? value.name : value,
  ])
  return Object.fromEntries(cells)
}
