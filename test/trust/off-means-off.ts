// Off means off on several instances of the service: the same promise at any length of the run.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { runLoad } from './linearizability.ts'
import { Instances } from './postgres-instances.ts'

export interface Length {
  readonly flips: number
  readonly verifications: number
}

export function describeOffMeansOff(whole: Length, whileCut: Length): void {
  describe('four instances on one PostgreSQL', () => {
    let instances: Instances
    before(async () => {
      instances = await Instances.prepare()
    })
    after(() => instances.dispose())

    const { flips, verifications } = whole
    test(`of ${verifications} verifications beside ${flips} flips, none shows an older state than was acknowledged`, async (t) => {
      const estate = await instances.estate(16)
      const outcome = await instances.serving((urls) => runLoad({ urls, ...estate, ...whole }))
      t.diagnostic(tell(outcome))
      assert.ok(outcome.flips >= flips && outcome.verifications >= verifications)
      assert.deepEqual(outcome.violations, [])
    })

    test(`nor do ${whileCut.verifications} beside ${whileCut.flips} while their connections are being cut`, async (t) => {
      const estate = await instances.estate(16)
      const { result, cuts } = await instances.serving((urls) =>
        instances.cutting(() => runLoad({ urls, ...estate, ...whileCut, tolerateFaults: true })),
      )
      t.diagnostic(`${tell(result)}, ${cuts} connections cut, ${result.faults} answers that said neither yes nor no`)
      assert.ok(result.flips >= whileCut.flips && result.verifications >= whileCut.verifications)
      assert.ok(cuts > 20)
      assert.deepEqual(result.violations, [])
    })

    test('the same test finds a cache with a time to live', async (t) => {
      const estate = await instances.estate(8)
      const outcome = await instances.servingFromCache((urls) =>
        runLoad({ urls, ...estate, flips: 200, verifications: 4_000 }),
      )
      t.diagnostic(tell(outcome))
      assert.ok(outcome.violations.length > 0)
    })
  })
}

function tell({ flips, verifications, violations }: Awaited<ReturnType<typeof runLoad>>): string {
  return `${flips} flips, ${verifications} verifications, ${violations.length} violations`
}
