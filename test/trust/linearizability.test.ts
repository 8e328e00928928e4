// Off means off, on several processes that share one embedded store.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Cli, type Process } from '../support/cli.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'
import { runLoad, violations } from './linearizability.ts'

const FLIPS = 5_000
const VERIFICATIONS = 200_000

describe('the checker', () => {
  const flips = [
    { version: 1, active: true, start: 0, end: 0 },
    { version: 2, active: false, start: 10, end: 20 },
    { version: 3, active: true, start: 30, end: 40 },
  ]
  const look = (start: number, end: number, active: boolean, version?: number) => ({ start, end, active, version })
  const cases: readonly [string, ReturnType<typeof look>[], number][] = [
    ['a look before a change shows the state before it', [look(1, 2, true, 1)], 0],
    ['a look beside a change may show either state', [look(11, 12, true, 1), look(13, 14, false)], 0],
    ['a yes after an acknowledged no is found', [look(21, 22, true, 1)], 1],
    ['a no after an acknowledged yes is found', [look(41, 42, false)], 1],
    ['a state that was not written yet is found', [look(1, 2, false)], 1],
    ['a version that is older than one seen before is found', [look(31, 32, true, 3), look(33, 34, true, 1)], 2],
  ]
  for (const [name, looks, expected] of cases) {
    test(name, () => assert.equal(violations({ flips, looks }).length, expected))
  }
})

describe('several servers on one store', () => {
  const cli = new Cli()
  let estate: Targets
  before(async () => {
    estate = await makeTargetsIn({ LATCHKEY_DATA_DIR: cli.dataDir }, 24)
  })
  after(() => cli.dispose())

  async function withServers<Result>(make: () => Process, work: (urls: string[]) => Promise<Result>): Promise<Result> {
    const servers = [make(), make(), make()]
    try {
      return await work(await Promise.all(servers.map((server) => server.ready())))
    } finally {
      for (const server of servers) server.kill('SIGTERM')
      await Promise.all(servers.map((server) => server.exited))
    }
  }

  test(`of ${VERIFICATIONS} verifications beside ${FLIPS} flips, none shows an older state than was acknowledged`, async (t) => {
    const outcome = await withServers(
      () => cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'error' }),
      (urls) =>
        runLoad({ urls, ...estate, tokens: estate.tokens.slice(0, 16), flips: FLIPS, verifications: VERIFICATIONS }),
    )
    t.diagnostic(
      `${outcome.flips} flips, ${outcome.verifications} verifications, ${outcome.violations.length} violations`,
    )
    assert.ok(outcome.flips >= FLIPS)
    assert.ok(outcome.verifications >= VERIFICATIONS)
    assert.deepEqual(outcome.violations, [])
  })

  test('the same test finds a cache with a time to live', async () => {
    const outcome = await withServers(
      () => cli.spawnScript(join(import.meta.dirname, 'ttl-server.ts'), { PORT: '0' }),
      (urls) => runLoad({ urls, ...estate, tokens: estate.tokens.slice(16), flips: 200, verifications: 4_000 }),
    )
    assert.ok(outcome.violations.length > 0)
  })
})
