// Restarts under load: two instances behind a balancer, one after the other told to stop and started again, and no
// caller notices.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { Process } from '../support/cli.ts'
import { freePort } from '../support/postgres-server.ts'
import { chances } from '../support/seed.ts'
import { Wire } from '../trust/wire.ts'
import { quantiles } from './kills.ts'
import { record } from './report.ts'
import { World } from './world.ts'

const CALLERS = 16
const CHECK_EVERY_MS = 100

/** Leads callers to the instances that say they are ready. */
interface Balancer {
  /** Where the next request goes. */
  url(): string
  knows(url: string): Promise<boolean>
  close(): Promise<void>
}

/** Two instances at fixed addresses, of which one at a time is stopped and started. */
class Pair {
  readonly #world: World
  readonly #drainSeconds: number
  readonly #ports: readonly number[]
  readonly #running: Process[] = []
  readonly exits: (number | null)[] = []

  private constructor(world: World, drainSeconds: number, ports: readonly number[]) {
    this.#world = world
    this.#drainSeconds = drainSeconds
    this.#ports = ports
  }

  static async start(world: World, drainSeconds: number): Promise<Pair> {
    const pair = new Pair(world, drainSeconds, [await freePort(), await freePort()])
    await Promise.all([pair.#start(0), pair.#start(1)])
    return pair
  }

  get urls(): readonly string[] {
    return this.#ports.map((port) => `http://127.0.0.1:${port}`)
  }

  async #start(n: number): Promise<void> {
    const env = { PORT: String(this.#ports[n]), LATCHKEY_DRAIN_SECONDS: String(this.#drainSeconds) }
    const server = this.#world.start({ env })
    this.#running[n] = server
    await server.ready()
  }

  /** Returns how long the instance took to stop. */
  async restart(n: number, signal: 'SIGTERM' | 'SIGKILL', balancer: Balancer): Promise<number> {
    const start = performance.now()
    this.#running[n]?.kill(signal)
    this.exits.push((await this.#running[n]?.exited) ?? null)
    const took = performance.now() - start
    await this.#start(n)
    while (!(await balancer.knows(this.urls[n] ?? ''))) await pause(CHECK_EVERY_MS)
    return took
  }
}

/** Asks each instance whether it is ready, as a balancer does, and leads callers round those that are. */
function ownBalancer({ urls }: Pair): Balancer {
  const ready = new Set(urls)
  let closed = false
  let turn = 0
  const checking = Promise.all(
    urls.map(async (url) => {
      while (!closed) {
        const answer = await fetch(`${url}/readyz`).catch(() => undefined)
        if (answer?.status === 200) ready.add(url)
        else ready.delete(url)
        await answer?.body?.cancel()
        await pause(CHECK_EVERY_MS)
      }
    }),
  )
  return {
    url: () => [...ready][turn++ % ready.size] ?? '',
    knows: async (url) => ready.has(url),
    async close() {
      closed = true
      await checking
    },
  }
}

async function haproxy({ urls }: Pair, folder: string): Promise<Balancer> {
  const [port, stats] = [await freePort(), await freePort()]
  const servers = urls.map(
    (url, n) => `    server s${n} ${new URL(url).host} check inter ${CHECK_EVERY_MS}ms fall 1 rise 1`,
  )
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(
    file,
    `defaults
    mode http
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout check 3s
    option redispatch
    retries 3
frontend api
    bind 127.0.0.1:${port}
    default_backend latchkey
backend latchkey
    option httpchk GET /readyz
${servers.join('\n')}
frontend figures
    bind 127.0.0.1:${stats}
    stats enable
    stats uri /
`,
  )
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  const up = async (n: number) => {
    const csv = await fetch(`http://127.0.0.1:${stats}/;csv`).then(
      (answer) => answer.text(),
      () => '',
    )
    return new RegExp(`^latchkey,s${n},.*,UP,`, 'm').test(csv)
  }
  const balancer: Balancer = {
    url: () => `http://127.0.0.1:${port}`,
    knows: (url) => up(urls.indexOf(url)),
    close: () => ended(child),
  }
  while (!(await up(0)) || !(await up(1))) {
    if (child.exitCode !== null) throw new Error('HAProxy ended')
    await pause(CHECK_EVERY_MS)
  }
  return balancer
}

async function ended(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}

/** Callers who verify, list and change, one request after the other, on connections that they keep. */
async function call(world: World, balancer: Balancer, going: () => boolean) {
  const counts = { answered: 0, failed: 0 }
  const failures = new Set<string>()
  const { key, tokens } = world.targets
  const caller = async (n: number) => {
    const wires = new Map<string, Wire>()
    const chance = chances(`restarts, caller ${n}`)
    const own = tokens[n]
    while (going()) {
      const url = balancer.url()
      const wire = wires.get(url) ?? new Wire(url)
      wires.set(url, wire)
      const kind = chance()
      const asked =
        kind < 0.8
          ? wire.ask('GET', '/api/v1/verify', world.steady.credential)
          : kind < 0.9
            ? wire.ask('GET', '/api/v1/apiClient/token?limit=5', key)
            : wire.ask('PUT', `/api/v1/apiClient/token/${own?.id}`, key, `{"name":"C${n} ${chance()}"}`)
      const status = await asked.then(
        (reply) => reply.status,
        (error: Error) => error.message,
      )
      if (status === 200 || status === 204) counts.answered++
      else {
        counts.failed++
        failures.add(String(status))
      }
    }
    for (const wire of wires.values()) wire.close()
  }
  await Promise.all(Array.from({ length: CALLERS }, (_, n) => caller(n)))
  return { ...counts, failures: [...failures] }
}

export interface Length {
  readonly balancer: 'HAProxy' | 'a balancer of the test'
  readonly drainSeconds: number
  readonly restarts: number
  readonly requests: number
  /** As a control: so many restarts by kill -9. */
  readonly kills: number
}

async function restartUnderLoad({ balancer: kind, drainSeconds, restarts, requests, kills }: Length) {
  const world = await World.make('restarts', 'ours')
  let balancer: Balancer | undefined
  try {
    const pair = await Pair.start(world, drainSeconds)
    const chosen = kind === 'HAProxy' ? await haproxy(pair, world.cli.dataDir) : ownBalancer(pair)
    balancer = chosen
    const run = async (signal: 'SIGTERM' | 'SIGKILL', times: number, atLeast: number) => {
      let restarting = true
      let begun = 0
      const calling = call(world, chosen, () => ++begun <= atLeast || restarting)
      const stopMs: number[] = []
      for (let n = 0; n < times; n++) stopMs.push(await pair.restart(n % 2, signal, chosen))
      restarting = false
      return { ...(await calling), stopMs }
    }
    const found = await run('SIGTERM', restarts, requests)
    const exits = [...pair.exits]
    return { found, exits, control: await run('SIGKILL', kills, 0) }
  } finally {
    await balancer?.close()
    world.dispose()
  }
}

export function describeRestarts(length: Length): void {
  const { balancer, drainSeconds, restarts, requests, kills } = length
  test(`two instances behind ${balancer}, restarted under load (${restarts}): no request fails`, async (t) => {
    const { found, exits, control } = await restartUnderLoad(length)
    assert.deepEqual(found.failures, [])
    assert.ok(found.answered >= requests)
    assert.ok(exits.every((code) => code === 0))
    assert.ok(control.failed > 0)
    const [, most] = quantiles(found.stopMs, [0.5, 1])
    record(t, {
      promise: 'A restart is not noticed by any caller',
      fault: 'SIGTERM under load',
      how: `two instances on one store behind ${balancer}, which asks /readyz every ${CHECK_EVERY_MS} ms; LATCHKEY_DRAIN_SECONDS=${drainSeconds}; ${CALLERS} callers who verify, list and change`,
      count: `${restarts} restarts, ${found.answered} requests`,
      figure: `${found.failed} failed; every exit 0, at most ${most} ms after the signal`,
      control: `kill -9 in place of SIGTERM, ${kills} times: ${control.failed} of ${control.answered + control.failed} failed`,
    })
  })
}
