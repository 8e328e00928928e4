// Verifiers in a process of their own, which can be frozen and killed. Each verifies in bursts, and reports what it saw.
import { setTimeout as pause } from 'node:timers/promises'
import type { Verifier } from '../../client/verifier/verifier.ts'
import type { Target } from '../support/targets.ts'
import { type Look, now } from '../trust/linearizability.ts'
import { type Alteration, alter } from './altered.ts'

export interface Setup {
  /** One verifier for each. */
  readonly urls: readonly string[]
  readonly key: string
  readonly tokens: readonly Target[]
  readonly leaseSeconds: number
  /** A machine that is suspended: its monotonic clock does not count the time for which this process was frozen. */
  readonly isSuspended?: boolean
  readonly alteration?: Alteration | undefined
}

export type Command = { readonly setup: Setup } | { readonly stepWall: number } | { readonly stop: true }

export interface Seen {
  readonly id: string
  readonly looks: readonly Look[]
  readonly verifications: number
  /** Answers that said neither yes nor no. */
  readonly faults: number
  readonly fromMemory: number
}

const BURST = 200
/** At most, for each verifier of the process: so that they leave the service something of the machine. */
const PAUSE_MS = 20
/** Longer than this process ever takes between two looks at its clock by itself. */
const FROZEN_MS = 500

/** Some answers to questions arrive so late that what they say has been changed, and confirmed, since. */
const LATE = { share: 0.2, ms: 300 }

const slowFetch: typeof fetch = async (...args) => {
  const response = await fetch(...args)
  if (String(args[0]).endsWith('/verify') && Math.random() < LATE.share) await pause(Math.random() * LATE.ms)
  return response
}

let wallOffset = 0
let hidden = 0
let last = performance.now()
let isStopping = false

function clock(isSuspended: boolean) {
  const real = performance.now()
  if (isSuspended && real - last > FROZEN_MS) hidden += real - last
  last = real
  return { monotonic: real - hidden, wall: Date.now() + wallOffset }
}

process.on('message', (command: Command) => {
  if ('setup' in command) run(command.setup)
  else if ('stepWall' in command) wallOffset += command.stepWall
  else isStopping = true
})
process.on('disconnect', () => process.exit())
setInterval(() => clock(true), FROZEN_MS / 5).unref()

async function run({ urls, key, tokens, leaseSeconds, isSuspended = false, alteration }: Setup): Promise<void> {
  if (alteration !== undefined) alter(alteration)
  const { createVerifier } = await import('../../client/verifier/verifier.ts')
  const options = { key, leaseSeconds, name: `test ${process.pid}`, clock: () => clock(isSuspended), fetch: slowFetch }
  const verifiers = await Promise.all(urls.map((baseUrl) => createVerifier({ ...options, baseUrl })))
  process.send?.({ ready: true })
  await Promise.all(verifiers.map((verifier) => verifyUntilStopped(verifier, tokens, PAUSE_MS * verifiers.length)))
  await Promise.all(verifiers.map((verifier) => verifier.close()))
  process.exit()
}

/** One that waits for its instance of the service keeps no other one waiting. */
async function verifyUntilStopped(verifier: Verifier, tokens: readonly Target[], pauseMs: number): Promise<void> {
  while (!isStopping) {
    const token = tokens[Math.floor(Math.random() * tokens.length)] as Target
    process.send?.(await burst(verifier, token))
    await pause(Math.random() * pauseMs)
  }
}

/** Of looks that follow each other within a millisecond and show the same, the first and the last say all. */
async function burst(verifier: Verifier, { id, credential }: Target): Promise<Seen> {
  const looks: Look[] = []
  let [first, latest]: (Look | undefined)[] = []
  let faults = 0
  let verifications = 0
  const before = verifier.state.fromMemory
  for (; verifications < BURST; verifications++) {
    const start = now()
    const verdict = await verifier.verify(credential)
    const look = {
      start,
      end: now(),
      active: verdict.accepted,
      version: verdict.accepted ? verdict.version : undefined,
    }
    if (!verdict.accepted && verdict.reason !== 'inactive') {
      faults++
      break
    }
    const isSame = first?.active === look.active && first.version === look.version && start - first.start < 1
    if (!isSame) {
      if (latest !== undefined && latest !== first) looks.push(latest)
      looks.push(look)
      first = look
    }
    latest = look
  }
  if (latest !== undefined && latest !== first) looks.push(latest)
  const fromMemory = verifier.state.fromMemory - before
  return { id, looks, verifications, faults, fromMemory }
}
