// A server process on a store of its own, callers who change tokens in it, and others who only ask.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BIN, Cli, type Process } from '../support/cli.ts'
import { chances } from '../support/seed.ts'
import { makeTargetsIn, type Target, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { type Inspection, inspect } from './inspect.ts'
import { Ledger, writeAtOnce } from './ledger.ts'

export type Program = 'ours' | 'answers early'

const PROGRAMS: Readonly<Record<Program, readonly string[]>> = {
  ours: [BIN, 'serve'],
  'answers early': [join(import.meta.dirname, 'early-server.ts')],
}

export interface Circumstances {
  /** Stands before the runtime, such as a shell that sets limits. */
  readonly command?: readonly string[]
  /** For the server's writing connection; see pragmas.ts. */
  readonly pragmas?: string
  readonly env?: Readonly<Record<string, string>>
}

export class World {
  readonly cli: Cli
  readonly targets: Targets
  readonly ledger: Ledger
  /** A token that nobody changes, to ask about. */
  readonly steady: Target
  readonly #program: Program
  readonly #chance: () => number

  private constructor(cli: Cli, made: Targets, program: Program, name: string) {
    this.cli = cli
    this.ledger = new Ledger(made)
    this.targets = { ...made, tokens: made.tokens.slice(0, -1) }
    this.steady = made.tokens.at(-1) ?? { id: '', credential: '' }
    this.#program = program
    this.#chance = chances(name)
  }

  static async make(name: string, program: Program, tokens = 32): Promise<World> {
    const cli = new Cli()
    return new World(cli, await makeTargetsIn({ LATCHKEY_DATA_DIR: cli.dataDir }, tokens + 1), program, name)
  }

  start({ command = [], pragmas, env = {} }: Circumstances = {}): Process {
    const preload = pragmas === undefined ? [] : ['--import', join(import.meta.dirname, 'pragmas.ts')]
    if (pragmas !== undefined) this.setPragmas(pragmas)
    const settings = { PORT: '0', LOG_LEVEL: 'fatal', FAULTS_PRAGMAS: this.#pragmas, ...env }
    return this.cli.spawnUnder(command, [...preload, ...PROGRAMS[this.#program]], settings)
  }

  /** Holds from the next transaction on, where the server was started with pragmas. */
  setPragmas(pragmas: string): void {
    writeFileSync(this.#pragmas, pragmas)
  }

  get #pragmas(): string {
    return join(this.cli.dataDir, 'pragmas.sql')
  }

  /** A server that answers before its commit does so for updates only. */
  write(url: string, writers: number, going: () => boolean, makes = this.#program === 'ours'): Promise<void> {
    const { targets, ledger } = this
    return writeAtOnce(writers, { url, targets, ledger, chance: this.#chance, makes }, going)
  }

  /** Holds the store as it lies on disk against what was answered. */
  check(dataDir = this.cli.dataDir): Inspection {
    const found = inspect(dataDir)
    this.ledger.seeAll(found.tokens)
    return found
  }

  dispose(): void {
    this.cli.dispose()
  }
}

/** Verifies a credential that stays good, and lists tokens, one after the other for as long as `work` takes. */
export async function whileAsking(url: string, { targets, steady }: World, work: () => Promise<void>) {
  const asked = { right: 0, wrong: 0 }
  let going = true
  const wire = new Wire(url)
  const ask = async (path: string, bearer: string, expected: number) => {
    const reply = await wire.ask('GET', path, bearer).catch(() => undefined)
    asked[reply?.status === expected ? 'right' : 'wrong']++
  }
  const asking = (async () => {
    while (going) {
      await ask('/api/v1/verify', steady.credential, 204)
      await ask('/api/v1/apiClient/token?limit=5', targets.key, 200)
    }
  })()
  try {
    await work()
  } finally {
    going = false
    await asking
    wire.close()
  }
  return asked
}
