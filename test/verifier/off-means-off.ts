// Off means off inside applications: verifiers in processes of their own, on several instances of the service, whatever happens to
// any of them. Every verdict is held against the changes by time and version, as in ../trust/linearizability.ts.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Forwarder } from '../faults/forwarder.ts'
import { record } from '../faults/report.ts'
import { Cli, type Process } from '../support/cli.ts'
import { chances } from '../support/seed.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'
import { type Load, type Outcome, runLoad } from '../trust/linearizability.ts'
import { Instances } from '../trust/postgres-instances.ts'
import type { Alteration } from './altered.ts'
import type { Command, Seen, Setup } from './verifier-process.ts'

export interface Length {
  readonly flips: number
  readonly verifications: number
  readonly processes: number
  readonly verifiersEach: number
  /** How long it takes on average until something else goes wrong; undefined for nothing. */
  readonly faultEveryMs?: number | undefined
}

const LEASE_SECONDS = 2
/** More than a lease, so that it runs out. */
const FROZEN_MS = 3_000

/** An instance of the service behind an address that stays the same when the instance is started again. */
class Instance {
  readonly #start: () => Process
  readonly #address: Forwarder
  #process: Process

  private constructor(start: () => Process, address: Forwarder) {
    this.#start = start
    this.#address = address
    this.#process = start()
  }

  static async begin(start: () => Process): Promise<Instance> {
    const instance = new Instance(start, await Forwarder.open())
    await instance.#lead()
    return instance
  }

  get url(): string {
    return `http://127.0.0.1:${this.#address.port}`
  }

  async #lead(): Promise<void> {
    this.#address.lead(Number(new URL(await this.#process.ready()).port))
  }

  async restart(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    await this.end(signal)
    await this.startAgain()
  }

  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#process.kill(signal)
    await this.#process.exited
  }

  async startAgain(): Promise<void> {
    this.#process = this.#start()
    await this.#lead()
  }

  async cut(): Promise<void> {
    await this.#lead()
  }

  async slow(ms: number): Promise<void> {
    this.#address.delay(ms)
    await pause(1_000)
    this.#address.delay(0)
  }

  async freeze(): Promise<void> {
    this.#process.kill('SIGSTOP')
    await pause(FROZEN_MS)
    this.#process.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGCONT')
    this.#process.kill('SIGTERM')
    await this.#process.exited
    this.#address.close()
  }
}

/** A process of verifiers. */
class Verifying {
  readonly #child: ChildProcess = fork(join(import.meta.dirname, 'verifier-process.ts'), { stdio: 'inherit' })

  async begin(setup: Setup, onSeen: (seen: Seen) => void): Promise<void> {
    const ready = Promise.withResolvers<void>()
    this.#child.on('message', (message: Seen | { readonly ready: true }) => {
      if ('ready' in message) ready.resolve()
      else onSeen(message)
    })
    this.#child.on('exit', (code) => ready.reject(new Error(`a process of verifiers ended with ${code}`)))
    this.tell({ setup })
    await ready.promise
  }

  tell(command: Command): void {
    this.#child.send(command)
  }

  async freeze(): Promise<void> {
    this.#child.kill('SIGSTOP')
    await pause(FROZEN_MS)
    this.#child.kill('SIGCONT')
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    this.tell({ stop: true })
    const killed = setTimeout(() => this.#child.kill('SIGKILL'), 10_000)
    await once(this.#child, 'exit')
    clearTimeout(killed)
  }
}

interface World {
  /** Replaces the store by what it was when this was last called. */
  readonly putBack?: (() => void) | undefined
  readonly instances: readonly Instance[]
  readonly processes: readonly Verifying[]
}

/** One after the other, until it is over. */
type Fault = (world: World, pick: <Each>(some: readonly Each[]) => Each) => Promise<void> | void

const FAULTS: Readonly<Record<string, Fault>> = {
  'verifiers frozen': ({ processes }, pick) => pick(processes).freeze(),
  'an instance frozen': ({ instances }, pick) => pick(instances).freeze(),
  'an instance killed': ({ instances }, pick) => pick(instances).restart('SIGKILL'),
  'an instance restarted': ({ instances }, pick) => pick(instances).restart('SIGTERM'),
  'an older store put back': async ({ instances, putBack }) => {
    if (putBack === undefined) return
    await Promise.all(instances.map((each) => each.end('SIGKILL')))
    putBack()
    await Promise.all(instances.map((each) => each.startAgain()))
  },
  'connections cut': ({ instances }, pick) => pick(instances).cut(),
  'connections slow': ({ instances }, pick) => pick(instances).slow(200),
  'wall clock set': ({ processes }, pick) =>
    pick(processes).tell({ stepWall: pick([-3_600_000, 3_600_000, -900, 900]) }),
}

interface Run extends Length {
  readonly putBack?: World['putBack']
  readonly start: readonly (() => Process)[]
  readonly estate: Targets
  readonly alteration?: Alteration | undefined
  readonly faults?: Readonly<Record<string, Fault>> | undefined
}

interface Found extends Outcome {
  readonly fromMemory: number
  readonly faultsMade: Readonly<Record<string, number>>
}

async function runVerifiers(run: Run): Promise<Found> {
  const instances = await Promise.all(run.start.map((start) => Instance.begin(start)))
  const processes = Array.from({ length: run.processes }, () => new Verifying())
  let fromMemory = 0
  const made: Record<string, number> = {}
  const look: Load['look'] = async (traces, left, count) => {
    const { key, tokens } = run.estate
    const onSeen = (seen: Seen) => {
      traces.get(seen.id)?.looks.push(...seen.looks)
      left.looks -= seen.verifications
      count.looks += seen.verifications
      count.faults += seen.faults
      fromMemory += seen.fromMemory
    }
    const isOver = () => left.looks <= 0 && left.flips <= 0
    await Promise.all(
      processes.map((process, n) => {
        const urls = Array.from(
          { length: run.verifiersEach },
          (_, k) => instances[(n + k) % instances.length]?.url ?? '',
        )
        // Every second machine is one that is suspended where another is only frozen.
        const setup = { urls, key, tokens, leaseSeconds: LEASE_SECONDS, isSuspended: n % 2 === 0 }
        return process.begin({ ...setup, alteration: run.alteration }, onSeen)
      }),
    )
    await makeFaults(run, { instances, processes, putBack: run.putBack }, isOver, made)
    while (!isOver()) await pause(10)
  }
  try {
    const urls = instances.map(({ url }) => url)
    const { key, tokens: all } = run.estate
    const { flips, verifications } = run
    const [tokens, reported] = [all.slice(0, TOKENS), all.slice(TOKENS)]
    return {
      ...(await runLoad({
        urls,
        key,
        tokens,
        flips,
        verifications,
        flippers: TOKENS,
        tolerateFaults: true,
        sendsAgain: true,
        reported,
        look,
      })),
      fromMemory,
      faultsMade: made,
    }
  } finally {
    await Promise.all(processes.map((each) => each.stop()))
    await Promise.all(instances.map((each) => each.stop()))
  }
}

async function makeFaults(
  { faultEveryMs, faults = FAULTS }: Run,
  world: World,
  isOver: () => boolean,
  made: Record<string, number>,
) {
  const chance = chances('faults')
  const pick = <Each>(some: readonly Each[]): Each => some[Math.floor(chance() * some.length)] as Each
  while (faultEveryMs !== undefined && !isOver()) {
    const [name, fault] = pick(Object.entries(faults))
    await fault(world, pick)
    made[name] = (made[name] ?? 0) + 1
    await pause(faultEveryMs * 2 * chance())
  }
}

/** All are changed at the same time: verifiers that confirm one change confirm what was changed with it. */
const TOKENS = 32
/** Each of them is switched off once, by leak reports. */
const REPORTED = 20
/** Of fewer tokens each is looked at more often, and what goes wrong is seen sooner. */
const CONTROL: Length & { readonly tokens: number } = {
  flips: 200,
  verifications: 20_000,
  processes: 2,
  verifiersEach: 2,
  tokens: 3,
}

/** Rules left out, and what must go wrong before that shows. */
const CONTROLS: readonly (readonly [
  what: string,
  { service?: Alteration; verifier?: Alteration; faultEveryMs?: number; faults?: Run['faults'] },
])[] = [
  [
    'changes that do not wait for verifiers',
    {
      service: {
        file: 'tokens/verifiers/confirmation.ts',
        from: 'if (verifiers.length === 0)',
        to: 'if (verifiers.length >= 0)',
      },
    },
  ],
  [
    'verifiers that do not look at the wall clock',
    {
      verifier: {
        file: 'verifier/memory.ts',
        from: '&& elapsedByWall < termMs - margin && elapsedByWall > elapsed - margin',
        to: '',
      },
      faultEveryMs: 50,
      faults: { 'verifiers frozen': ({ processes }) => (processes[0] as Verifying).freeze() },
    },
  ],
  [
    'verifiers that remember answers older than a change that they have confirmed',
    { verifier: { file: 'verifier/memory.ts', from: 'mayBeOlder(question, entry)', to: 'false' } },
  ],
]

interface Surroundings {
  readonly what: string
  readonly open: () => Promise<{
    readonly start: (alteration?: Alteration) => readonly (() => Process)[]
    readonly estate: (tokens: number) => Promise<Targets>
    readonly putBack?: () => void
    readonly close: () => void | Promise<void>
  }>
}

const embedded: Surroundings = {
  what: 'two servers on one embedded store',
  async open() {
    const cli = new Cli()
    const env = { PORT: '0', LOG_LEVEL: 'fatal' }
    const begin = (alteration?: Alteration) => () => started(cli, env, alteration)
    return {
      start: (alteration) => [begin(alteration), begin(alteration)],
      estate: (tokens) => makeTargetsIn({ LATCHKEY_DATA_DIR: cli.dataDir }, tokens),
      putBack: () => putBack(cli.dataDir),
      close: () => cli.dispose(),
    }
  },
}

const onPostgres: Surroundings = {
  what: 'four instances on one PostgreSQL',
  async open() {
    const instances = await Instances.prepare()
    const cli = new Cli()
    const begin = (alteration?: Alteration) => () => started(cli, instances.env, alteration)
    return {
      start: (alteration) => Array.from({ length: 4 }, () => begin(alteration)),
      estate: (tokens) => instances.estate(tokens),
      close: async () => {
        cli.dispose()
        await instances.dispose()
      },
    }
  },
}

/** The database only: its journal is the one of all that was answered. */
function putBack(folder: string): void {
  const older = join(folder, 'older')
  const isDatabase = (name: string) => name.startsWith('latchkey.db')
  const names = readdirSync(folder).filter(isDatabase)
  const kept = existsSync(older) ? readdirSync(older) : []
  mkdirSync(`${older}.next`)
  for (const name of names) copyFileSync(join(folder, name), join(`${older}.next`, name))
  if (kept.length > 0) for (const name of names) rmSync(join(folder, name))
  for (const name of kept) copyFileSync(join(older, name), join(folder, name))
  rmSync(older, { recursive: true, force: true })
  renameSync(`${older}.next`, older)
}

function started(cli: Cli, env: Readonly<Record<string, string>>, alteration: Alteration | undefined): Process {
  if (alteration === undefined) return cli.spawn(['serve'], env)
  const script = join(import.meta.dirname, 'altered-server.ts')
  return cli.spawnScript(script, { ...env, ALTERATION: JSON.stringify(alteration) })
}

/** With the names of controls, the test must find each of these first. */
export function describeVerifiers(
  length: Length,
  controls: { readonly embedded?: readonly string[]; readonly postgres?: readonly string[] },
): void {
  describeOn(embedded, length, controls.embedded)
  describeOn(onPostgres, length, controls.postgres)
}

function describeOn(surroundings: Surroundings, length: Length, controls: readonly string[] = []): void {
  describe(`verifiers on ${surroundings.what}`, () => {
    let opened: Awaited<ReturnType<Surroundings['open']>>
    before(async () => {
      opened = await surroundings.open()
    })
    after(() => opened.close())

    const found: string[] = []
    for (const [what, { service, verifier, ...faults }] of CONTROLS.filter(([what]) => controls.includes(what))) {
      test(`the test finds ${what}`, async () => {
        let outcome: Found | undefined
        for (let n = 0; n < 10 && (outcome?.violations.length ?? 0) === 0; n++) {
          const estate = await opened.estate(CONTROL.tokens)
          const alteration = verifier === undefined ? {} : { alteration: verifier }
          outcome = await runVerifiers({ ...CONTROL, ...faults, ...alteration, start: opened.start(service), estate })
        }
        found.push(`${what}: ${outcome?.violations.length} of ${outcome?.verifications} wrong`)
        assert.ok((outcome?.violations.length ?? 0) > 0)
      })
    }

    const { flips, verifications, processes, verifiersEach } = length
    test(`of ${verifications} verifications in ${processes * verifiersEach} verifiers beside ${flips} changes, none shows an older state than was answered`, async (t) => {
      const outcome = await runVerifiers({
        ...length,
        start: opened.start(),
        estate: await opened.estate(TOKENS + REPORTED),
        putBack: opened.putBack,
      })
      const { faultsMade } = outcome
      const faults = Object.entries(faultsMade).map(([name, count]) => `${name} ${count}`)
      const done = `${outcome.flips} changes, ${outcome.verifications} verifications (${outcome.fromMemory} from memory)`
      const count = [done, ...faults].join('; ')
      t.diagnostic(count)
      assert.deepEqual(outcome.violations, [])
      assert.ok(outcome.flips >= flips + REPORTED && outcome.verifications >= verifications)
      assert.ok(outcome.fromMemory > outcome.verifications / 2)
      record(t, {
        promise:
          'Off means off inside applications: no verification from memory that begins after the answer shows an older state',
        fault: `${surroundings.what}: ${Object.keys(FAULTS).join(', ')}`,
        how: `${processes * verifiersEach} verifiers in ${processes} processes, ${TOKENS} callers who change; every verdict held against the changes by time and version`,
        count,
        figure: `0 older states seen; ${outcome.faults} answers said neither yes nor no`,
        control: found.join('; '),
      })
    })
  })
}

export const ALL_CONTROLS = CONTROLS.map(([what]) => what)
