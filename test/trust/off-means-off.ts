// Off means off on several instances of the service: the same promise at any length of the run.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { record } from '../faults/report.ts'
import { Cli, Servers } from '../support/cli.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'
import { runLoad } from './linearizability.ts'
import { Instances } from './postgres-instances.ts'

export interface Length {
  readonly flips: number
  readonly verifications: number
}

/** No more than the runs that must find nothing, so that these would find it too. */
export const CONTROL: Length = { flips: 100, verifications: 2_000 }

export function describeOffMeansOff(whole: Length, whileCut: Length): void {
  describe('four instances on one PostgreSQL', () => {
    let instances: Instances
    before(async () => {
      instances = await Instances.prepare()
    })
    after(() => instances.dispose())

    let control = ''
    test('the test finds a cache with a time to live', async (t) => {
      const outcome = await served(instances.startWithCache(), (urls) =>
        untilFound(async () => {
          const estate = await instances.estate(8)
          return runLoad({ urls, ...estate, ...CONTROL, tolerateFaults: true })
        }),
      )
      control = `a cache of 50 ms: ${tell(outcome)}`
      t.diagnostic(control)
      assert.ok(outcome.violations.length > 0)
    })

    describe('without one', () => {
      let servers: Servers
      let urls: readonly string[]
      before(async () => {
        servers = instances.start()
        urls = await servers.ready()
      })
      after(() => servers.stop())

      const { flips, verifications } = whole
      test(`of ${verifications} verifications beside ${flips} flips, none shows an older state than was acknowledged`, async (t) => {
        const estate = await instances.estate(16)
        const outcome = await runLoad({ urls, ...estate, ...whole, tolerateFaults: true })
        assert.ok(outcome.flips >= flips && outcome.verifications >= verifications)
        assert.deepEqual(outcome.violations, [])
        record(t, { ...PROMISE, fault: 'many instances', count: tell(outcome), figure: figure(outcome), control })
      })

      test(`nor do ${whileCut.verifications} beside ${whileCut.flips} while their connections are being cut`, async (t) => {
        const estate = await instances.estate(16)
        const { result, cuts } = await instances.cutting(() =>
          runLoad({ urls, ...estate, ...whileCut, tolerateFaults: true }),
        )
        assert.ok(result.flips >= whileCut.flips && result.verifications >= whileCut.verifications)
        assert.ok(cuts > 20)
        assert.deepEqual(result.violations, [])
        const count = `${tell(result)}, ${cuts} connections cut`
        record(t, { ...PROMISE, fault: 'many instances, connections cut', count, figure: figure(result), control })
      })
    })
  })
}

async function served<Result>(servers: Servers, work: (urls: string[]) => Promise<Result>): Promise<Result> {
  try {
    return await work(await servers.ready())
  } finally {
    await servers.stop()
  }
}

/** On a machine so busy that a flip takes longer than the cache keeps, one run may find nothing. Each begins with new tokens. */
async function untilFound(load: () => ReturnType<typeof runLoad>): ReturnType<typeof runLoad> {
  const MOST = 20
  let outcome = await load()
  for (let n = 1; n < MOST && outcome.violations.length === 0; n++) outcome = await load()
  return outcome
}

/** Several processes that share one embedded store. */
export function describeEmbeddedOffMeansOff({ flips, verifications }: Length): void {
  describe('several servers on one store', () => {
    const cli = new Cli()
    let estate: Targets
    before(async () => {
      estate = await makeTargetsIn({ LATCHKEY_DATA_DIR: cli.dataDir }, 16)
    })
    after(() => cli.dispose())

    test(`of ${verifications} verifications beside ${flips} flips, none shows an older state than was acknowledged`, async (t) => {
      const outcome = await served(
        new Servers(3, () => cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'error' })),
        (urls) => runLoad({ urls, ...estate, flips, verifications }),
      )
      t.diagnostic(tell(outcome))
      assert.ok(outcome.flips >= flips)
      assert.ok(outcome.verifications >= verifications)
      assert.deepEqual(outcome.violations, [])
    })

    test('the same test finds a cache with a time to live', async () => {
      const outcome = await served(
        new Servers(3, () => cli.spawnScript(join(import.meta.dirname, 'ttl-server.ts'), { PORT: '0' })),
        (urls) =>
          untilFound(async () => {
            const own = await makeTargetsIn({ LATCHKEY_DATA_DIR: cli.dataDir }, 8)
            return runLoad({ urls, ...own, ...CONTROL })
          }),
      )
      assert.ok(outcome.violations.length > 0)
    })
  })
}

const PROMISE = {
  promise: 'Off means off, on every instance: no verification that begins after the answer shows an older state',
  how: 'four processes on one PostgreSQL, 8 callers who flip and 24 who verify; every verdict held against the flips by time and version',
}

function tell({ flips, verifications, violations }: Awaited<ReturnType<typeof runLoad>>): string {
  return `${flips} flips, ${verifications} verifications, ${violations.length} violations`
}

/** A busy machine may let a deadline pass: such an answer says neither yes nor no, and breaks no promise. */
function figure({ faults }: Awaited<ReturnType<typeof runLoad>>): string {
  return `0 older states seen; ${faults} answers said neither yes nor no`
}
