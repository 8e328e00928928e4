// The machine's clock is set an hour forth and back, again and again: nobody gets in with what has expired.
import assert from 'node:assert/strict'
import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { steadyClock } from '../../src/process/clock.ts'
import { startServer } from '../../src/serve/serving.ts'
import { BIN, Cli } from '../support/cli.ts'
import { chances } from '../support/seed.ts'
import { makeTargets, type Targets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { record } from './report.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

interface Timed {
  readonly credential: string
  /** When it stops to authenticate, counted from the start. */
  readonly untilMs: number
}

/** Tokens that expire, and credentials that are rotated out, at many times around the start; none near a full hour. */
async function prepare(env: Readonly<Record<string, string>>): Promise<{ targets: Targets; timed: readonly Timed[] }> {
  const latchkey = await openLatchkey(readConfig(env))
  try {
    const { operator, registry } = latchkey
    const targets = await makeTargets(latchkey, 9)
    const caller = operator.actFor(targets.accountId)
    const start = operator.origin().at
    const { accountId, subAccountId } = targets
    const expiries = Array.from({ length: 60 }, (_, n) => (n * 3 - 88) * MINUTE)
    const records = await operator.createTokens(
      expiries.map((ms) => ({ accountId, subAccountId, name: `expires ${ms}`, expiresAt: start + ms })),
    )
    const timed = await Array.fromAsync(records, async ({ id }, n) => {
      const { credential } = await registry.getToken(caller, id)
      return { credential, untilMs: expiries[n] ?? 0 }
    })
    for (const [n, { id, credential }] of targets.tokens.slice(1).entries()) {
      const untilMs = (n + 1) * 13 * MINUTE
      await registry.rotateToken(caller, id, untilMs / 1000, operator.origin())
      timed.push({ credential, untilMs })
    }
    return { targets, timed }
  } finally {
    await latchkey.store.close()
  }
}

interface Machine {
  readonly url: string
  /** From now on the machine's clock is so far ahead of the true time. */
  setClock(ms: number): void
  stop(): Promise<void>
}

/** The true clock and one that can be set, in this process. */
async function inProcess(env: Readonly<Record<string, string>>, steady: boolean): Promise<Machine> {
  let ahead = 0
  const wall = () => Date.now() + ahead
  const now = steady ? steadyClock({ wall, elapsed: () => performance.now(), onStep() {} }) : wall
  const { url, stop } = await startServer(readConfig({ ...env, PORT: '0' }), { now })
  const setClock = (ms: number) => {
    ahead = ms
  }
  return { url, setClock, stop }
}

/** A process of its own, whose system tells it another time. */
async function underFaketime(cli: Cli, steady: boolean): Promise<Machine> {
  const file = join(cli.dataDir, 'faketime')
  const setClock = (ms: number) => writeFileSync(file, `${ms < 0 ? '-' : '+'}${Math.abs(ms) / 1000}`)
  setClock(0)
  const program = steady ? [BIN, 'serve'] : [join(import.meta.dirname, 'plain-clock-server.ts')]
  const server = cli.spawnUnder([], program, {
    ...{ PORT: '0', LOG_LEVEL: 'fatal', LD_PRELOAD: libfaketime() },
    ...{ FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' },
  })
  const url = await server.ready()
  const stop = async () => {
    server.kill('SIGTERM')
    await server.exited
  }
  return { url, setClock, stop }
}

function libfaketime(): string {
  const found = globSync('/usr/lib/{*/,}faketime/libfaketimeMT.so.1')[0]
  if (found === undefined) throw new Error('libfaketime is not on this machine. Install it: apt-get install faketime')
  return found
}

export type Kind = 'in process' | 'libfaketime'

async function stepTheClock(kind: Kind, steady: boolean, steps: number) {
  const cli = new Cli()
  const env = { LATCHKEY_DATA_DIR: cli.dataDir }
  const { targets, timed } = await prepare(env)
  const machine = await (kind === 'in process' ? inProcess(env, steady) : underFaketime(cli, steady))
  const wire = new Wire(machine.url)
  const chance = chances('clock')
  const counts = { verdicts: 0, wrongYes: 0, wrongNo: 0, versionsOutOfOrder: 0 }
  try {
    let latest = 0
    let version = 1
    for (let step = 0; step < steps; step++) {
      // At any rate an hour ahead in the middle, and an hour behind at the end.
      const ahead = step === Math.floor(steps / 2) ? 1 : step === steps - 1 ? -1 : Math.floor(chance() * 3 - 1)
      machine.setClock(ahead * HOUR)
      latest = Math.max(latest, ahead * HOUR)
      for (const { credential, untilMs } of timed) {
        const { status } = await wire.ask('GET', '/api/v1/verify', credential)
        const good = untilMs > latest
        counts.verdicts++
        if (status === 204 && !good) counts.wrongYes++
        if (status !== 204 && good) counts.wrongNo++
      }
      const path = `/api/v1/apiClient/token/${targets.tokens[0]?.id}`
      const { head } = await wire.ask('PUT', path, targets.key, `{"name":"step ${step}"}`)
      if (Number(/etag: "(\d+)"/i.exec(head)?.[1]) !== ++version) counts.versionsOutOfOrder++
    }
    const { body } = await wire.ask('GET', `/api/v1/apiClient/history?limit=100`, targets.key)
    const times = (JSON.parse(body).data.items as { at: string }[]).map(({ at }) => Date.parse(at)).reverse()
    const backwards = times.filter((at, n) => at < (times[n - 1] ?? 0)).length
    return { ...counts, backwards }
  } finally {
    wire.close()
    await machine.stop()
    cli.dispose()
  }
}

export function describeClock(kind: Kind, steps: number): void {
  test(`the clock set an hour forth and back ${steps} times (${kind}): nobody gets in with what has expired`, async (t) => {
    const found = await stepTheClock(kind, true, steps)
    assert.deepEqual(
      { ...found, verdicts: 0 },
      { verdicts: 0, wrongYes: 0, wrongNo: 0, versionsOutOfOrder: 0, backwards: 0 },
    )
    const control = await stepTheClock(kind, false, steps)
    assert.ok(control.wrongYes > 0)
    record(t, {
      promise:
        'What has expired stays expired while the process runs, whatever is done to the clock; versions order events',
      fault: 'clock steps of an hour',
      how: `the clock of the server’s system set by ${kind}, tokens and rotated credentials that end at 68 different times`,
      count: `${steps} steps, ${found.verdicts} verdicts`,
      figure: '0 wrong yes, 0 wrong no, 0 versions or times out of order',
      control: `believing the machine: ${control.wrongYes} wrong yes`,
    })
  })
}
