// What a process does besides serving: one loop with a budget instead of many timers. Each task runs when it is due or asked for,
// never twice at the same time, and rests for ten times as long as it took, so that all of it stays a small share.

export interface Task {
  /** For the log, where it fails. */
  readonly name: string
  readonly everyMs: number
  /** Never late, however long it takes. */
  readonly isUrgent?: true
  readonly run: () => Promise<unknown>
}

/**
 * A task that takes 200 ms is due again after two seconds at the soonest, but after ten times its interval at the latest; if it is
 * asked for, after its interval.
 */
const REST_FACTOR = 10

interface Planned {
  readonly task: Task
  dueAt: number
  /** The soonest, if it is asked for. */
  restedAt: number
  running: Promise<void> | undefined
  isAsked: boolean
}

const IDLE = { running: undefined, isAsked: false }

export class Deliveries {
  readonly #planned: readonly Planned[]
  readonly #onFailed: (name: string, error: unknown) => void
  #timer: NodeJS.Timeout | undefined
  #isRunning = false

  constructor(tasks: readonly Task[], onFailed: (name: string, error: unknown) => void) {
    const now = performance.now()
    this.#planned = tasks.map((task) => ({ task, dueAt: now + task.everyMs, restedAt: 0, ...IDLE }))
    this.#onFailed = onFailed
  }

  start(): void {
    this.#isRunning = true
    this.#schedule()
  }

  /** Runs the task soon; again if it is running already. */
  ask(name: string): void {
    for (const planned of this.#planned) if (planned.task.name === name) planned.isAsked = true
    this.#schedule()
  }

  /** Waits for what is running. */
  async stop(): Promise<void> {
    this.#isRunning = false
    clearTimeout(this.#timer)
    await Promise.all(this.#planned.map(({ running }) => running))
  }

  #schedule(): void {
    if (!this.#isRunning) return
    const idle = this.#planned.filter(({ running }) => running === undefined)
    const next = Math.min(...idle.map(nextOf))
    clearTimeout(this.#timer)
    if (next === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.#runDue(), Math.max(0, next - performance.now()))
  }

  #runDue(): void {
    const now = performance.now()
    for (const planned of this.#planned) {
      if (planned.running === undefined && nextOf(planned) <= now) {
        planned.isAsked = false
        planned.running = this.#run(planned)
      }
    }
    this.#schedule()
  }

  async #run(planned: Planned): Promise<void> {
    const { name, everyMs, isUrgent, run } = planned.task
    const start = performance.now()
    try {
      await run()
    } catch (error) {
      this.#onFailed(name, error)
    }
    const end = performance.now()
    const rest = isUrgent ? 0 : REST_FACTOR * (end - start)
    planned.dueAt = end + Math.min(Math.max(everyMs, rest), REST_FACTOR * everyMs)
    planned.restedAt = end + Math.min(rest, everyMs)
    planned.running = undefined
    this.#schedule()
  }
}

function nextOf({ isAsked, dueAt, restedAt }: Planned): number {
  return isAsked ? Math.min(restedAt, dueAt) : dueAt
}
