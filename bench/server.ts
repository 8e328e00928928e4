// A server under measurement: a process of its own, its processor time, its memory, and its end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** A peer first seeds its own store: a million rows through an ORM. */
const READY_MS = 20 * 60_000
const STOP_TIMEOUT_MS = 15_000

/** For everything that ends with this run. */
export const WORK = mkdtempSync(join(tmpdir(), 'latchkey-bench-'))
const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL')
  rmSync(WORK, { recursive: true, force: true })
})

export interface ServerCommand {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** With a channel for messages. */
  readonly channel?: boolean
}

export class Server {
  readonly port: number
  readonly startMs: number
  readonly #child: ChildProcess
  readonly #log: string

  private constructor(child: ChildProcess, log: string, port: number, startMs: number) {
    this.#child = child
    this.#log = log
    this.port = port
    this.startMs = startMs
  }

  /** Resolves when the server has printed its address after the word "ready". */
  static async start({ name, args, env, channel = false }: ServerCommand): Promise<Server> {
    const begun = performance.now()
    const log = join(WORK, `${name}.log`)
    const output = openSync(log, 'a')
    truncateSync(log)
    const child = spawn(process.execPath, [...args], {
      serialization: 'advanced',
      env: { ...process.env, HOST: '127.0.0.1', PORT: '0', ...env },
      stdio: ['ignore', output, output, ...(channel ? (['ipc'] as const) : [])],
    })
    closeSync(output)
    started.add(child)
    child.once('exit', () => started.delete(child))
    while (performance.now() - begun < READY_MS) {
      const printed = readFileSync(log, 'utf8')
      const port = /ready at http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1]
      if (port !== undefined) return new Server(child, log, Number(port), performance.now() - begun)
      if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}: ${printed}`)
      await pause(2)
    }
    throw new Error(`${name} was not ready within ${READY_MS} ms`)
  }

  /** Sends a message over the channel and waits for the answer to it. */
  async tell(message: object): Promise<unknown> {
    const answered = once(this.#child, 'message')
    this.#child.send(message)
    return (await answered)[0]
  }

  /**
   * Processor time in microseconds, of all threads, user and system: the scheduler's own count, since the ticks of
   * /proc/<pid>/stat are too coarse for a short round.
   */
  cpuMicros(): number {
    const tasks = `/proc/${this.#child.pid}/task`
    return readdirSync(tasks).reduce((sum, task) => {
      const [nanoseconds] = readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')
      return sum + Number(nanoseconds) / 1000
    }, 0)
  }

  rssMiB(): number {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#child.pid}/status`, 'utf8'))?.[1]) / 1024
  }

  /** What it has logged is not kept: a log line a request would fill the disk. */
  dropLog(): void {
    truncateSync(this.#log)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  stop(): Promise<void> {
    return end(this.#child)
  }
}

export async function stopServers(): Promise<void> {
  for (const child of started) await end(child)
}

async function end(child: ChildProcess): Promise<void> {
  if (!started.has(child)) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
