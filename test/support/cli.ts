// The command line, run in this process on a data folder of its own, or as a real one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { run } from '../../src/cli/program.ts'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { bundleOf } from './bundles.ts'

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  readonly json: any
}

interface Surroundings {
  readonly input?: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>
  readonly env?: Readonly<Record<string, string>>
  /** Whether standard input is a terminal. */
  readonly isTTY?: boolean
}

export class Cli {
  readonly #started: Process[] = []
  readonly dataDir = mkdtempSync(join(tmpdir(), 'latchkey-cli-'))
  /** Made by what stores a context. */
  readonly configDir = `${this.dataDir}-config`

  run(...args: string[]): Promise<Ran> {
    return this.runAs({}, ...args)
  }

  /** With something on its standard input. */
  runGiven(input: readonly (string | Uint8Array)[], ...args: string[]): Promise<Ran> {
    return this.runAs({ input }, ...args)
  }

  /** With variables that only this run sees. */
  runWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran> {
    return this.runAs({ env }, ...args)
  }

  async runAs({ input = [], env = {}, isTTY = false }: Surroundings, ...args: string[]): Promise<Ran> {
    const out: string[] = []
    const err: string[] = []
    const before = process.env
    process.env = { ...before, ...this.#folders, ...env }
    try {
      const code = await run(args, {
        stdin: Object.assign(Readable.from(input), { isTTY }),
        stdout: { write: (text) => out.push(text) },
        stderr: { write: (text) => err.push(text) },
      })
      const [stdout, stderr] = [out.join(''), err.join('')]
      return { code, stdout, stderr, json: args.includes('--json') && code === 0 ? JSON.parse(stdout) : undefined }
    } finally {
      process.env = before
    }
  }

  get #folders() {
    return { LATCHKEY_DATA_DIR: this.dataDir, LATCHKEY_CONFIG_DIR: this.configDir }
  }

  /** The same folder, as a process of its own. */
  spawn(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    return this.spawnScript(BIN, env, args)
  }

  /** Another program on the same folder. */
  spawnScript(script: string, env: Readonly<Record<string, string>> = {}, args: readonly string[] = []) {
    return this.spawnUnder([], [script, ...args], env)
  }

  /** The runtime as the last part of another command, such as `strace -f` or a shell that sets limits first. */
  spawnUnder(command: readonly string[], args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const line = [...command, process.execPath, ...args.map(bundleOf)]
    const started = new Process(line, { ...this.#folders, ...env })
    this.#started.push(started)
    return started
  }

  /** An account with a key and a sub-account, in a store that is opened once for all three. */
  async estate() {
    const { operator, store } = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: this.dataDir }))
    try {
      const { id } = await operator.createAccount('A')
      const key = await operator.createKey(id, 'Test', null)
      const [owner] = await operator.createSubAccounts(id, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
      return { account: { _id: id }, key: { _id: key.id, key: key.key }, subAccount: { _id: owner?.id ?? '' } }
    } finally {
      await store.close()
    }
  }

  /** Also ends what a test that failed has left running: it would keep the tests from ending. */
  dispose(): void {
    for (const started of this.#started) started.kill('SIGKILL')
    for (const folder of [this.dataDir, this.configDir]) rmSync(folder, { recursive: true, force: true })
  }
}

/** For a process whose lines are covered nowhere else. */
export const COVERED: Readonly<Record<string, string>> = { NODE_V8_COVERAGE: process.env.NODE_V8_COVERAGE ?? '' }

/** What `npm start` starts. Bundled by `npm test` wherever `Cli` starts it, never where a test does so by itself. */
export const BIN = join(import.meta.dirname, '..', '..', 'bin', 'latchkey.mjs')

export class Process {
  readonly #child
  readonly exited: Promise<number | null>
  stdout = ''
  stderr = ''

  constructor([program = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
    this.#child = spawn(program, args, {
      // Counting what is covered slows a process down, and every start of one most of all.
      env: { ...process.env, NODE_V8_COVERAGE: '', ...env },
      cwd: tmpdir(),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.exited = once(this.#child, 'close').then(([code]) => code as number | null)
    this.#child.stdout.on('data', (chunk) => {
      this.stdout += chunk
    })
    this.#child.stderr.on('data', (chunk) => {
      this.stderr += chunk
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** The address in the line that says that it is ready. */
  async ready(): Promise<string> {
    const address = () => /ready at (http:\/\/\S+)/.exec(this.stdout)?.[1]
    await this.#until(this.#child.stdout, () => address() !== undefined)
    return address() ?? ''
  }

  /** Waits until its standard error is as wanted. */
  async says(isSo: (stderr: string) => boolean): Promise<void> {
    await this.#until(this.#child.stderr, () => isSo(this.stderr))
  }

  /** Waits until its standard output, which holds the log, is as wanted. */
  async logs(isSo: (stdout: string) => boolean): Promise<void> {
    await this.#until(this.#child.stdout, () => isSo(this.stdout))
  }

  async #until(stream: Readable, isSo: () => boolean): Promise<void> {
    const ended = this.exited.then(() => true)
    while (!isSo()) {
      if (await Promise.race([once(stream, 'data').then(() => false), ended]))
        throw new Error(`ended with ${this.#child.exitCode}: ${this.stderr}`)
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }
}

/** Several servers, started together and stopped together. */
export class Servers {
  readonly #processes: readonly Process[]

  constructor(count: number, start: () => Process) {
    this.#processes = Array.from({ length: count }, start)
  }

  ready(): Promise<string[]> {
    return Promise.all(this.#processes.map((each) => each.ready()))
  }

  async stop(): Promise<void> {
    for (const each of this.#processes) each.kill('SIGTERM')
    await Promise.all(this.#processes.map((each) => each.exited))
  }
}
