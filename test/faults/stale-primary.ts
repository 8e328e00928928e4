// A primary that is cut off and runs on while its standby is promoted: an instance that still asks it accepts no token that
// was disabled on the new primary. With an asynchronous standby it does: the control shows that this test would see it.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import { runs } from '../support/runs.ts'
import { removeFolder, temporaryFolder } from '../support/sqlite.ts'
import { makeTargets } from '../support/targets.ts'
import { Wire } from '../trust/wire.ts'
import { Cluster, type Mode } from './cluster.ts'
import { Forwarder } from './forwarder.ts'
import { record } from './report.ts'

const ROUNDS = runs(1, 10)
/** After the answer about the disabled token. */
const WATCHED_MS = 8_000
const GIVE_UP_MS = 60_000

interface Round {
  /** Verifications by the instance at the former primary, begun after the other one had confirmed. */
  readonly asked: number
  readonly accepted: number
  /** From the promotion to the first confirmed change, and to the first refusal at the former primary. */
  readonly confirmedMs: number
  readonly refusedMs: number
}

async function round(mode: Mode): Promise<Round> {
  const cluster = await Cluster.start(mode)
  const address = await Forwarder.open()
  address.lead(cluster.primaryPort)
  const masterKey = randomBytes(32).toString('base64')
  const folder = temporaryFolder()
  // What an asynchronous standby loses would be noticed, and everything refused.
  const witness = mode === 'synchronous' ? folder : 'off'
  const settings = { PORT: '0', LATCHKEY_MASTER_KEY: masterKey, LATCHKEY_PG_WITNESS: witness }
  const start = (url: string) => startServer(readConfig({ ...settings, DATABASE_URL: url }))
  const staying = await start(cluster.url)
  const following = await start(cluster.urlAt(address.port))
  const [atFormer, atNew] = [new Wire(staying.url), new Wire(following.url)]
  try {
    const { key, tokens } = await makeTargets(staying, 1)
    const { id = '', credential = '' } = tokens[0] ?? {}
    const verify = async (wire: Wire) => (await wire.ask('GET', '/api/v1/verify', credential)).status
    const disable = () => atNew.ask('PUT', `/api/v1/apiClient/token/${id}`, key, '{"status":"inactive"}')
    assert.deepEqual([await verify(atFormer), await verify(atNew)], [204, 204])

    await cluster.promoteBeside()
    const promotedAt = performance.now()
    address.lead(cluster.primaryPort)
    let [confirmedAt, refusedAt, asked, accepted] = [0, 0, 0, 0]
    const watching = (async () => {
      while (confirmedAt === 0 || performance.now() < confirmedAt + WATCHED_MS) {
        const begunAt = performance.now()
        if (begunAt > promotedAt + GIVE_UP_MS) break
        const status = await verify(atFormer)
        if (status !== 204) refusedAt ||= performance.now()
        if (confirmedAt === 0 || begunAt < confirmedAt) continue
        asked++
        if (status === 204) accepted++
      }
    })()
    while (confirmedAt === 0 && performance.now() < promotedAt + GIVE_UP_MS) {
      const reply = await disable().catch(() => undefined)
      if (reply?.status === 200) confirmedAt = performance.now()
      else await wait(20)
    }
    await watching
    assert.ok(confirmedAt > 0, 'the new primary confirmed no change')
    assert.equal(await verify(atNew), 401)
    return { asked, accepted, confirmedMs: confirmedAt - promotedAt, refusedMs: refusedAt - promotedAt }
  } finally {
    atFormer.close()
    atNew.close()
    await Promise.all([staying.stop(), following.stop()])
    address.close()
    await cluster.remove()
    removeFolder(folder)
  }
}

let control = ''

test('the test sees what a former primary with an asynchronous standby accepts', async () => {
  const { asked, accepted } = await round('asynchronous')
  control = `an asynchronous standby: ${accepted} of ${asked} accepted`
  assert.ok(accepted > 0)
})

test('a former primary that runs on accepts nothing that was disabled on the new one', async (t) => {
  const rounds: Round[] = []
  for (let n = 0; n < ROUNDS; n++) rounds.push(await round('synchronous'))
  const sum = (figure: keyof Round) => rounds.reduce((total, each) => total + each[figure], 0)
  const longest = (figure: keyof Round) => (Math.max(...rounds.map((each) => each[figure])) / 1_000).toFixed(1)
  assert.equal(sum('accepted'), 0)
  assert.ok(sum('asked') > 0)
  record(t, {
    promise:
      'A former primary that runs on accepts nothing that was disabled on the new one, where a standby is synchronous',
    fault: 'PostgreSQL: primary cut off',
    how: 'the primary is cut off from its standby and runs on; the standby is promoted; one instance still asks the former primary, another one the new one, where it disables a token',
    count: `${ROUNDS} rounds, ${sum('asked')} verifications after the answer`,
    figure: `0 accepted; the new primary confirmed changes after at most ${longest('confirmedMs')} s, verification at the former one stopped after at most ${longest('refusedMs')} s`,
    control,
  })
})
