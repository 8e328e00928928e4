// A server under measurement: a process of its own, its processor time, its memory, and its end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, truncateSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const READY_MS = 60_000
const STOP_TIMEOUT_MS = 15_000

export interface ServerCommand {
  readonly name: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** A file of its own, for what it prints. */
  readonly log: string
  /** With a channel for messages. */
  readonly channel?: boolean
  /** How long it may take until it is ready: one that seeds its own store first takes its time. */
  readonly readyMs?: number
}

const started = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})

export class Server {
  readonly name: string
  readonly port: number
  readonly startMs: number
  readonly #child: ChildProcess
  readonly #log: string

  private constructor({ name, log }: ServerCommand, child: ChildProcess, port: number, startMs: number) {
    this.name = name
    this.#log = log
    this.#child = child
    this.port = port
    this.startMs = startMs
  }

  /** Resolves when the server has printed its address after the word "ready". */
  static async start(command: ServerCommand): Promise<Server> {
    const begun = performance.now()
    const { readyMs = READY_MS } = command
    const log = openSync(command.log, 'a')
    truncateSync(command.log)
    const child = spawn(process.execPath, [...command.args], {
      serialization: 'advanced',
      env: { ...process.env, HOST: '127.0.0.1', PORT: '0', ...command.env },
      stdio: ['ignore', log, log, ...(command.channel ? (['ipc'] as const) : [])],
    })
    closeSync(log)
    started.add(child)
    child.once('exit', () => started.delete(child))
    while (performance.now() - begun < readyMs) {
      const printed = readFileSync(command.log, 'utf8')
      const port = /ready at http:\/\/127\.0\.0\.1:(\d+)/.exec(printed)?.[1]
      if (port !== undefined) return new Server(command, child, Number(port), performance.now() - begun)
      if (child.exitCode !== null) throw new Error(`${command.name} ended with ${child.exitCode}: ${printed}`)
      await pause(2)
    }
    child.kill('SIGKILL')
    throw new Error(`${command.name} was not ready within ${readyMs} ms`)
  }

  /** Sends a message over the channel and waits for the answer to it. */
  async tell(message: object): Promise<unknown> {
    const answered = once(this.#child, 'message')
    this.#child.send(message)
    return (await answered)[0]
  }

  /** Processor time in microseconds, of all threads and child processes, user and system. */
  cpuMicros(): number {
    return familyOf(this.#child.pid ?? 0).reduce((sum, pid) => sum + cpuOf(pid), 0)
  }

  rssMiB(): number {
    const pages = familyOf(this.#child.pid ?? 0).map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'))
    return pages.reduce((sum, text) => sum + Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024, 0)
  }

  /** What it has logged is not kept: a log line a request would fill the disk. */
  dropLog(): void {
    truncateSync(this.#log)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await exited
    clearTimeout(timer)
  }
}

function familyOf(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(familyOf)]
}

/** The scheduler's own count, in nanoseconds: the ticks of /proc/<pid>/stat are too coarse for a short round. */
function cpuOf(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
    const [nanoseconds] = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')
    return sum + Number(nanoseconds) / 1000
  }, 0)
}
