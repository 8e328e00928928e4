// The servers that a person works with, by name, with an account key for each; and which of them a command asks.
import { mkdirSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { replacePrivate } from '../process/private-file.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import { decodeText } from '../tokens/model/fields.ts'
import { isObject } from '../tokens/verify/is-object.ts'
import { UsageError } from './terminal/exit-codes.ts'

export interface Context {
  readonly name: string
  readonly server: string
  readonly key: string
}

interface Stored {
  readonly inUse: string | null
  readonly contexts: readonly Context[]
}

/** Not the name of a server: `--context local` is the local store, whatever is in use. */
export const LOCAL = 'local'

export class Contexts {
  readonly #folder: string
  readonly #path: string

  constructor({ configDir }: Pick<Config, 'configDir'>) {
    this.#folder = configDir
    this.#path = join(configDir, 'contexts.json')
  }

  read(): Stored {
    let bytes: Uint8Array
    try {
      bytes = readFileSync(this.#path)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { inUse: null, contexts: [] }
      throw error
    }
    const stored = parse(decodeText(bytes))
    if (stored !== undefined) return stored
    throw new OperatorError(`${this.#path} cannot be read as contexts. Remove it, and add them again.`)
  }

  find(name: string): Context {
    const found = this.read().contexts.find((context) => context.name === name)
    if (found !== undefined) return found
    throw new UsageError(`There is no context ${name}. \`latchkey context list\` shows those that there are.`)
  }

  /** Also replaces one: so a new key is stored. The first of all is in use from then on. */
  add(context: Context): void {
    const { inUse, contexts } = this.read()
    const others = contexts.filter(({ name }) => name !== context.name)
    const all = [...others, context].sort((one, other) => (one.name < other.name ? -1 : 1))
    this.#write({ inUse: contexts.length === 0 ? context.name : inUse, contexts: all })
  }

  use(name: string): void {
    const inUse = name === LOCAL ? null : this.find(name).name
    this.#write({ ...this.read(), inUse })
  }

  remove(name: string): Context {
    const removed = this.find(name)
    const { inUse, contexts } = this.read()
    const others = contexts.filter((context) => context.name !== name)
    this.#write({ inUse: inUse === name ? null : inUse, contexts: others })
    return removed
  }

  /** Renamed into place: a command that runs meanwhile reads the former contexts or the new ones. */
  #write(stored: Stored): void {
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    const unfinished = `${this.#path}.${process.pid}`
    replacePrivate(unfinished, `${JSON.stringify(stored, null, 2)}\n`)
    renameSync(unfinished, this.#path)
  }
}

function parse(text: string | undefined): Stored | undefined {
  let value: unknown
  try {
    value = JSON.parse(text ?? '')
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { inUse, contexts } = value as Readonly<Record<string, unknown>>
  const isStored = (inUse === null || typeof inUse === 'string') && Array.isArray(contexts) && contexts.every(isContext)
  return isStored ? { inUse, contexts } : undefined
}

function isContext(value: unknown): value is Context {
  if (!isObject(value)) return false
  const { name, server, key } = value as Readonly<Record<string, unknown>>
  return [name, server, key].every((each) => typeof each === 'string')
}

export interface Server {
  readonly url: string
  /** None: only what needs no caller can be asked. */
  readonly key: string | undefined
}

/** The server that a command asks; undefined for the local store. */
export function chooseServer(config: Config, contextName: string | undefined): Server | undefined {
  const explicit = explicitChoice(config, contextName)
  if (explicit !== undefined) return explicit === LOCAL ? undefined : explicit
  if (config.serverKey !== undefined) throw new UsageError('LATCHKEY_KEY is set, but LATCHKEY_SERVER is not.')
  const { inUse } = new Contexts(config).read()
  return inUse === null ? undefined : toServer(new Contexts(config).find(inUse))
}

function explicitChoice(config: Config, contextName: string | undefined): Server | typeof LOCAL | undefined {
  if (contextName === LOCAL) return LOCAL
  if (contextName !== undefined) return toServer(new Contexts(config).find(contextName))
  return config.server === undefined ? undefined : { url: config.server, key: config.serverKey }
}

const toServer = ({ server: url, key }: Context): Server => ({ url, key })

/** For a command that works on the local store only. A context that is in use is not meant for it; one that was named is. */
export function refuseServer({ server }: Config, contextName: string | undefined, command: string): void {
  const choice = contextName !== undefined ? '--context' : server !== undefined ? 'LATCHKEY_SERVER' : undefined
  if (choice === undefined || contextName === LOCAL) return
  const instead = choice === '--context' ? 'leave it out' : 'unset it for this command'
  throw new UsageError(`${command} works on the local store only, but ${choice} chooses a server: ${instead}.`)
}
