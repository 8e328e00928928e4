// kill -9 of servers that send events to a receiver which fails now and then: two of them on one store, killed in turn.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { Cli, type Process } from '../support/cli.ts'
import type { Engine } from '../support/estate.ts'
import { bearer, send } from '../support/http.ts'
import { chances } from '../support/seed.ts'
import { makeTargetsIn } from '../support/targets.ts'
import { LOOPBACK, WebhookReceiver } from '../support/webhook-receiver.ts'
import { record } from './report.ts'

const SERVERS = 2
const WRITERS = 2
const PAUSE_MS = 25
const API = '/api/v1/apiClient'

export interface Length {
  readonly kills: number
  /** Between two kills. */
  readonly ms: readonly [number, number]
  /** One of so many events is refused when it first comes. Each refusal takes five seconds. */
  readonly refusedOf: number
}

interface Arrival {
  readonly seq: number
  readonly isAccepted: boolean
}

/** What is wrong: events that never came, and those that came before one in front of them was accepted. */
function faultsOf(arrivals: readonly Arrival[], expected: readonly number[]): { lost: number[]; early: number[] } {
  const accepted = new Set<number>()
  const early = new Set<number>()
  let next = 0
  for (const { seq, isAccepted } of arrivals) {
    while (accepted.has(expected[next] ?? -1)) next++
    if (seq > (expected[next] ?? seq)) early.add(seq)
    if (isAccepted) accepted.add(seq)
  }
  return { lost: expected.filter((seq) => !accepted.has(seq)), early: [...early] }
}

class Instances {
  readonly urls: (string | undefined)[] = []
  readonly #processes: Process[] = []
  readonly #start: () => Process

  constructor(start: () => Process) {
    this.#start = start
  }

  async start(n: number): Promise<void> {
    this.#processes[n] = this.#start()
    this.urls[n] = await this.#processes[n].ready()
  }

  async kill(n: number): Promise<void> {
    this.urls[n] = undefined
    this.#processes[n]?.kill('SIGKILL')
    await this.#processes[n]?.exited
  }

  /** Of those that run. */
  anyUrl(chance: () => number): string | undefined {
    const urls = this.urls.filter((url) => url !== undefined)
    return urls[Math.floor(chance() * urls.length)]
  }
}

async function deliverUnderKills(engine: Engine, { kills, ms: [from, to], refusedOf }: Length) {
  const chance = chances(`webhook kills on ${engine.name}`)
  const prepared = await engine.prepare()
  const [cli, receiver] = [new Cli(), await WebhookReceiver.start()]
  const { key, tokens } = await makeTargetsIn(prepared.env, WRITERS)
  const env = { ...prepared.env, ...LOOPBACK, PORT: '0', LOG_LEVEL: 'fatal' }
  const instances = new Instances(() => cli.spawn(['serve'], env))
  const ask = (url: string, method: string, path: string, body?: object) =>
    send(url, { method, path: `${API}${path}`, headers: [bearer(key)], ...(body && { body }) })
  const arrivals: Arrival[] = []
  const badSignatures: unknown[] = []
  let secret = ''
  receiver.answer = ({ body, headers, json }) => {
    try {
      new Webhook(secret).verify(body, headers as Record<string, string>)
    } catch (error) {
      badSignatures.push(error)
    }
    const { seq } = json.data
    const isAccepted = seq % refusedOf !== 0 || arrivals.some((arrival) => arrival.seq === seq)
    arrivals.push({ seq, isAccepted })
    return isAccepted ? 204 : 503
  }
  try {
    await Promise.all(Array.from({ length: SERVERS }, (_, n) => instances.start(n)))
    const made = await ask(instances.urls[0] ?? '', 'POST', '/webhook', { url: receiver.url, events: ['token.*'] })
    secret = made.json.data.secret
    let going = true
    const writing = tokens.map(async ({ id }) => {
      for (let n = 0; going; n++) {
        const url = instances.anyUrl(chance)
        const status = n % 2 === 0 ? 'inactive' : 'active'
        if (url !== undefined) await ask(url, 'PUT', `/token/${id}`, { status }).catch(() => {})
        await pause(PAUSE_MS)
      }
    })
    for (let kill = 0; kill < kills; kill++) {
      await pause(from + chance() * (to - from))
      await instances.kill(kill % SERVERS)
      await instances.start(kill % SERVERS)
    }
    going = false
    await Promise.all(writing)
    const expected = await readExpected((path) => ask(instances.anyUrl(chance) ?? '', 'GET', path))
    await receiver.until(() => faultsOf(arrivals, expected).lost.length === 0)
    const duplicates = arrivals.length - new Set(arrivals.map(({ seq }) => seq)).size
    const refused = arrivals.filter(({ isAccepted }) => !isAccepted).length
    return { arrivals, expected, badSignatures, twice: duplicates - refused, refused }
  } finally {
    cli.dispose()
    await receiver.close()
    await prepared.dispose()
  }
}

/** The events of tokens since the webhook was made. */
async function readExpected(get: (path: string) => ReturnType<typeof send>): Promise<number[]> {
  const expected: number[] = []
  for (let after = 0; ; ) {
    const heard = await get(`/history?limit=100&after=${after}`)
    assert.equal(heard.status, 200, heard.text)
    const { items } = heard.json.data as { items: { seq: number; action: string }[] }
    for (const { seq, action } of items) {
      if (action === 'webhook.create') expected.length = 0
      else if (action.startsWith('token.')) expected.push(seq)
    }
    if (items.length === 0) return expected
    after = items.at(-1)?.seq ?? 0
  }
}

export function describeWebhookKills(engine: Engine, length: Length): void {
  test(`${length.kills} times kill -9 of one of ${SERVERS} servers loses no event and changes no order, on the ${engine.name} store`, async (t) => {
    const { arrivals, expected, badSignatures, twice, refused } = await deliverUnderKills(engine, length)
    assert.ok(expected.length > 5 * length.kills)
    assert.deepEqual(faultsOf(arrivals, expected), { lost: [], early: [] })
    assert.deepEqual(badSignatures, [])
    const first = arrivals.findIndex(({ isAccepted }) => isAccepted)
    const without = arrivals.filter(({ seq }) => seq !== arrivals[first]?.seq)
    const control = faultsOf(without, expected)
    assert.ok(control.lost.length === 1 && control.early.length > 0)
    record(t, {
      promise: 'A webhook gets every event, in order',
      fault: `kill -9 of servers that send events, on the ${engine.name} store`,
      how: `${SERVERS} servers on one store, killed in turn; a receiver that refuses one of ${length.refusedOf} events at first; every signature checked by npm standardwebhooks`,
      count: `${length.kills} kills, ${expected.length} events, ${refused} refused at first`,
      figure: `0 lost, 0 out of order, ${twice} came twice`,
      control: 'without one arrival: 1 lost, and what follows it is out of order',
    })
  })
}
