// What other callers notice of a hostile one: verifications, and the reads of another account, before and beside it, and
// the memory of the process.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { BIN, Cli, type Process } from '../support/cli.ts'
import type { Engine, Prepared } from '../support/estate.ts'
import { makeTargets, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import type { HostileData, Kind } from './hostile-caller.ts'
import type { Unguarded } from './unguarded-server.ts'

export interface Scene {
  readonly engine: Engine
  readonly kind: Kind
  readonly count: number
  /** Of the hostile account. */
  readonly tokens: number
  /** Beside the two that ask. */
  readonly moreAccounts?: number
  readonly seconds: number
}

export interface Noticed {
  readonly asked: number
  /** Answers with another status than expected, and requests without an answer. */
  readonly wrong: number
  readonly idleP99Ms: number
  readonly p99Ms: number
  readonly slowestMs: number
  readonly grownMb: number
}

/** Of memory, at most, whatever one caller does. */
export const GROWN_MB = 100

const ACCOUNTS_AT_ONCE = 1_000
const TOKENS_AT_ONCE = 1_000
const SAMPLE_MS = 50
const READS = ['token?limit=10', 'token?search=1', 'history', 'overview'].map((path) => `/api/v1/apiClient/${path}`)

export class Stage {
  readonly #cli = new Cli()
  readonly #scene: Scene
  readonly #prepared: Prepared
  readonly #hostile: Targets
  readonly #other: Targets

  private constructor(scene: Scene, prepared: Prepared, hostile: Targets, other: Targets) {
    this.#scene = scene
    this.#prepared = prepared
    this.#hostile = hostile
    this.#other = other
  }

  static async prepare(scene: Scene): Promise<Stage> {
    const prepared = await scene.engine.prepare()
    const latchkey = await openLatchkey(readConfig(prepared.env))
    try {
      const [hostile, other] = [await makeTargets(latchkey, 1), await makeTargets(latchkey, 100)]
      await makeTokens(latchkey, hostile, scene.tokens)
      await makeAccounts(latchkey, scene.moreAccounts ?? 0)
      return new Stage(scene, prepared, hostile, other)
    } finally {
      await latchkey.store.close()
    }
  }

  /** With a guard taken away where one is named. */
  async observe(without?: Unguarded): Promise<Noticed> {
    const program = without === undefined ? [BIN, 'serve'] : [join(import.meta.dirname, 'unguarded-server.ts')]
    const env = { ...this.#prepared.env, PORT: '0', LOG_LEVEL: 'fatal', FAULTS_CONTROL: without ?? '' }
    const server = this.#cli.spawnUnder([], program, env)
    const url = await server.ready()
    await this.#ask(url, sleep(500))
    const idle = await this.#ask(url, sleep(this.#scene.seconds * 1_000))
    const before = residentMb(server)
    const hostile = await this.#bringIn(url)
    const most = watchMemory(server)
    const beside = await this.#ask(url, hostile.over())
    const grownMb = (await most()) - before
    await hostile.worker.terminate()
    server.kill('SIGKILL')
    await server.exited
    return {
      asked: beside.verified.length + beside.others.length,
      wrong: idle.wrong + beside.wrong,
      idleP99Ms: quantile(idle.verified, 0.99),
      p99Ms: quantile(beside.verified, 0.99),
      slowestMs: Math.max(...beside.others),
      grownMb,
    }
  }

  async #bringIn(url: string) {
    const { kind, count, seconds } = this.#scene
    const workerData: HostileData = { kind, url, key: this.#hostile.key, count }
    const worker = new Worker(join(import.meta.dirname, 'hostile-caller.ts'), { workerData })
    const done = once(worker, 'exit')
    await once(worker, 'message')
    const over = () => (kind === 'asks with long addresses' ? done : sleep(seconds * 1_000))
    return { worker, over }
  }

  /** Asks as the other account until `over`, one verification and one read at a time. */
  async #ask(url: string, over: Promise<unknown>) {
    const { key, tokens } = this.#other
    let going = true
    let wrong = 0
    const repeat = async (ask: (wire: Wire, n: number) => Promise<boolean>) => {
      const wire = new Wire(url)
      const times: number[] = []
      for (let n = 0; going; n++) {
        const start = performance.now()
        if (!(await ask(wire, n).catch(() => false))) wrong++
        times.push(performance.now() - start)
        await sleep(1)
      }
      wire.close()
      return times
    }
    const asking = Promise.all([
      repeat(async (wire, n) => {
        const { credential = '' } = tokens[n % tokens.length] ?? {}
        return (await wire.ask('GET', '/api/v1/verify', credential)).status === 204
      }),
      repeat(async (wire, n) => (await wire.ask('GET', READS[n % READS.length] ?? '', key)).status === 200),
    ])
    await over
    going = false
    const [verified, others] = await asking
    return { verified, others, wrong }
  }

  async dispose(): Promise<void> {
    this.#cli.dispose()
    await this.#prepared.dispose()
  }
}

/** In parts: PostgreSQL gives a call three seconds. */
async function makeTokens({ operator }: Latchkey, { accountId, subAccountId }: Targets, count: number): Promise<void> {
  for (let made = 0; made < count; made += TOKENS_AT_ONCE) {
    const size = Math.min(TOKENS_AT_ONCE, count - made)
    await operator.createTokens(
      Array.from({ length: size }, (_, n) => ({ accountId, subAccountId, name: `Token ${made + n} of many` })),
    )
  }
}

async function makeAccounts({ operator }: Latchkey, count: number): Promise<void> {
  for (let made = 0; made < count; made += ACCOUNTS_AT_ONCE) {
    const names = Array.from({ length: Math.min(ACCOUNTS_AT_ONCE, count - made) }, (_, n) => `Account ${made + n}`)
    const accounts = await Promise.all(names.map((name) => operator.createAccount(name)))
    const records = await Promise.all(
      accounts.map(async ({ id: accountId }) => {
        const fields = { name: 'S', email: 's@x.example', companyName: 'C' }
        const [owner] = await operator.createSubAccounts(accountId, [fields])
        return { accountId, subAccountId: owner?.id ?? '', name: 'T' }
      }),
    )
    await operator.createTokens(records)
  }
}

/** Resolves the most that was resident from now on. */
function watchMemory(server: Process): () => Promise<number> {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, residentMb(server))
  }, SAMPLE_MS)
  return async () => {
    clearInterval(timer)
    return Math.max(most, residentMb(server))
  }
}

function residentMb({ pid }: Process): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_000
}

function quantile(values: readonly number[], q: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(q * values.length))] ?? 0
}
