// Does "off" mean off? Many clients flip tokens and verify them on several servers at once; afterwards every
// verification is held against the flips by their times on one clock, and by the versions they showed.
import { chances } from '../support/seed.ts'
import type { Target } from '../support/targets.ts'
import { Wire } from './wire.ts'

/** In milliseconds, by a clock that all processes of a machine share. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export interface Flip {
  readonly version: number
  readonly active: boolean
  readonly start: number
  /** When the answer was read; never, for one whose outcome is not known. */
  readonly end: number
}

export interface Look {
  readonly start: number
  readonly end: number
  readonly active: boolean
  /** Only an accepted credential shows its version. */
  readonly version: number | undefined
}

export interface TokenTrace {
  readonly flips: Flip[]
  readonly looks: Look[]
}

/**
 * A look may show the last change that was answered before it began, or any change under way while it looked. Anything
 * else is an older state than the caller had been told of, or one that never was.
 */
export function violations({ flips: made, looks }: TokenTrace): string[] {
  const found: string[] = []
  const flips = withEnds(made)
  let settled = 0
  let seen = { end: Number.NEGATIVE_INFINITY, version: 0 }
  for (const look of [...looks].sort((a, b) => a.start - b.start)) {
    while (settled + 1 < flips.length && (flips[settled + 1]?.end ?? 0) < look.start) settled++
    const possible: Flip[] = []
    for (let i = settled; i < flips.length && (flips[i]?.start ?? 0) <= look.end; i++) {
      const flip = flips[i]
      if (flip !== undefined) possible.push(flip)
    }
    const shown = possible.some(
      ({ active, version }) => active === look.active && (look.version === undefined || look.version === version),
    )
    if (!shown)
      found.push(
        `${look.active ? 'accepted' : 'refused'} at version ${look.version ?? '?'} after ${flips[settled]?.version}`,
      )
    if (look.version !== undefined) {
      if (look.start > seen.end && look.version < seen.version)
        found.push(`version ${look.version} after ${seen.version}`)
      if (look.version > seen.version) seen = { end: look.end, version: look.version }
    }
  }
  return found
}

/** The answer to a change answers for those before it, too. */
function withEnds(flips: readonly Flip[]): Flip[] {
  let end = Number.POSITIVE_INFINITY
  return flips
    .toReversed()
    .map((flip) => {
      end = Math.min(end, flip.end)
      return { ...flip, end }
    })
    .reverse()
}

export interface Load {
  readonly urls: readonly string[]
  readonly key: string
  readonly tokens: readonly Target[]
  readonly flips: number
  readonly verifications: number
  /** How many tokens are changed at a time. */
  readonly flippers?: number
  /** Outcomes other than a clear yes or no, such as 503 while the database is cut off. */
  readonly tolerateFaults?: boolean
  /** What was left open is sent again: its answer must not come too early either. */
  readonly sendsAgain?: boolean
  /** Tokens that are switched off, once, by leak reports which are sent again until they are answered. */
  readonly reported?: readonly Target[]
  /** Who looks, instead of callers over HTTP. Only the answer to a change tells them of it, not a read that shows it. */
  readonly look?: (traces: ReadonlyMap<string, TokenTrace>, left: Left, count: Count) => Promise<void>
}

/** What is still to be done. */
export interface Left {
  flips: number
  looks: number
}

export interface Count extends Left {
  faults: number
}

export interface Outcome {
  readonly flips: number
  readonly verifications: number
  readonly faults: number
  readonly violations: readonly string[]
}

const FLIPPERS = 8
const LOOKERS = 24

/** Each token is flipped by one client at a time, so that its changes have one order; it is looked at by all. */
export async function runLoad(load: Load): Promise<Outcome> {
  const traces = new Map<string, TokenTrace>(
    [...load.tokens, ...(load.reported ?? [])].map(({ id }) => {
      return [id, { flips: [{ version: 1, active: true, start: 0, end: 0 }], looks: [] }]
    }),
  )
  const left: Left = { flips: load.flips, looks: load.verifications }
  const count: Count = { flips: 0, looks: 0, faults: 0 }
  const chance = chances('looks')
  const { flippers = FLIPPERS } = load
  const callers = load.look === undefined ? flippers + LOOKERS : flippers
  const wires = Array.from({ length: callers }, (_, n) =>
    load.urls.map((url) => new Wire(url)).at(n % load.urls.length),
  )

  /** By token: when a change was first sent whose outcome was left open. */
  const open = new Map<string, number>()
  const flipper = async (wire: Wire, own: readonly Target[]) => {
    for (let turn = 0; left.flips > 0 && own.length > 0; turn++) {
      left.flips--
      const { id } = own[turn % own.length] ?? { id: '' }
      const flips = traces.get(id)?.flips ?? []
      const last = flips.at(-1)
      const active = !last?.active
      const start = open.get(id) ?? now()
      const body = `{"status":"${active ? 'active' : 'inactive'}"}`
      // One that was left open may still be made: never after another one.
      const ifMatch = `If-Match: "${last?.version}"\r\n`
      const status = await wire.ask('PUT', `/api/v1/apiClient/token/${id}`, load.key, body, ifMatch).then(
        (reply) => reply.status,
        () => 0,
      )
      if (status === 200) {
        flips.push({ version: (last?.version ?? 0) + 1, active, start, end: now() })
        open.delete(id)
        count.flips++
      } else if (load.tolerateFaults) {
        count.faults++
        left.flips++
        if (!(await settle(wire, id, flips, start, load))) open.set(id, start)
        else {
          open.delete(id)
          if (load.sendsAgain) await sendAgain(wire, load.key, id, flips)
        }
      } else throw new Error(`PUT was answered ${status}`)
    }
  }

  /** One after the other, spread over the changes. */
  const reporter = async (wire: Wire, reported: readonly Target[]) => {
    for (const [n, { id, credential }] of reported.entries()) {
      const wanted = load.flips * (1 - (n + 1) / (reported.length + 1))
      while (left.flips > wanted && left.flips > 0) await new Promise((resolve) => setTimeout(resolve, 10))
      const start = now()
      const body = JSON.stringify({ text: credential })
      for (let status = 0; status !== 200; ) {
        status = await wire.ask('POST', '/api/v1/apiClient/leak', load.key, body).then(
          (reply) => reply.status,
          () => 0,
        )
        if (status !== 200) await new Promise((resolve) => setTimeout(resolve, 10))
      }
      traces.get(id)?.flips.push({ version: 2, active: false, start, end: now() })
      count.flips++
    }
    wire.close()
  }

  const looker = async (wire: Wire) => {
    while (left.looks > 0 || left.flips > 0) {
      left.looks--
      const { id, credential } = load.tokens[Math.floor(chance() * load.tokens.length)] ??
        load.tokens[0] ?? { id: '', credential: '' }
      const start = now()
      const reply = await wire.ask('GET', '/api/v1/verify', credential).catch(() => undefined)
      const end = now()
      if (reply?.status === 204 || reply?.status === 401) {
        const version =
          reply.status === 204 ? Number(/x-latchkey-token-version: (\d+)/i.exec(reply.head)?.[1]) : undefined
        traces.get(id)?.looks.push({ start, end, active: reply.status === 204, version })
        count.looks++
      } else if (load.tolerateFaults) {
        // Neither yes nor no: it does not count as a look, and another one is made.
        count.faults++
        left.looks++
      } else throw new Error(`verify was answered ${reply?.status}`)
    }
  }

  await Promise.all([
    load.look?.(traces, left, count),
    load.reported && reporter(new Wire(load.urls[0] ?? ''), load.reported),
    ...wires.map((wire, n) => {
      if (wire === undefined) return undefined
      return n < flippers
        ? flipper(
            wire,
            load.tokens.filter((_, index) => index % flippers === n),
          )
        : looker(wire)
    }),
  ]).catch((error: unknown) => {
    // Nobody goes on after one has failed.
    left.flips = 0
    left.looks = 0
    throw error
  })
  for (const wire of wires) wire?.close()
  const found = [...traces.values()].flatMap(violations)
  return { flips: count.flips, verifications: count.looks, faults: count.faults, violations: found }
}

/** The answer to what was made already: an order of off moves the version, and nothing else. One without an answer is found by the next. */
async function sendAgain(wire: Wire, key: string, id: string, flips: Flip[]): Promise<void> {
  const start = now()
  const last = flips.at(-1)
  if (last === undefined) return
  const body = `{"status":"${last.active ? 'active' : 'inactive'}"}`
  const ifMatch = `If-Match: "${last.version}"\r\n`
  const status = await wire.ask('PUT', `/api/v1/apiClient/token/${id}`, key, body, ifMatch).then(
    (reply) => reply.status,
    () => 0,
  )
  if (status !== 200) return
  if (last.active) flips.splice(-1, 1, { ...last, end: now() })
  else flips.push({ ...last, version: last.version + 1, start, end: now() })
}

/** After an answer that leaves the outcome open, asks until the token tells which version it is at. False if it is not changed. */
async function settle(wire: Wire, id: string, flips: Flip[], start: number, { key, look }: Load): Promise<boolean> {
  for (;;) {
    const reply = await wire.ask('GET', `/api/v1/apiClient/token/${id}?include=details`, key).catch(() => undefined)
    if (reply?.status !== 200) {
      await new Promise((resolve) => setImmediate(resolve))
      continue
    }
    const { status, details } = JSON.parse(reply.body).data
    if (details.version === flips.at(-1)?.version) return false
    const end = look === undefined ? now() : Number.POSITIVE_INFINITY
    flips.push({ version: details.version, active: status === 'active', start, end })
    return true
  }
}
