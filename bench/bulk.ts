// A bulk operation on a large account: how long it takes, and what verifications of another account notice of it.
import { setTimeout as pause } from 'node:timers/promises'
import { prepareEstate, sample, serve, TOKEN } from './estate.ts'
import type { LoadProcess } from './load.ts'
import { type Finding, median } from './measure.ts'
import type { Options } from './options.ts'
import { ask, askData, bearer, get, withBody } from './requests.ts'
import { WORK } from './server.ts'

const TOKENS = 100_000
const VERIFIED = 5_000
const VERIFICATIONS_PER_SECOND = 300
const BULK = `${TOKEN}/bulk`

interface Operation {
  readonly _id: string
  readonly status: string
  readonly done: number
}

export async function measureBulk(options: Options, load: LoadProcess): Promise<Finding[]> {
  const tokens = options.quick ? TOKENS / 10 : TOKENS
  const estate = await prepareEstate(options.estates ?? WORK, { name: 'bulk', accounts: 2, subAccounts: 10, tokens })
  const server = await serve('bulk', estate)
  const { port } = server
  const [changed = '', verified = ''] = estate.keys
  const [account] = await sample(port, [verified], VERIFIED)
  const credentials = account?.tokens.filter(({ status }) => status === 'active').map(({ token }) => token) ?? []
  await load.teach('verify beside bulk', [
    { share: 1, status: 204, groups: [credentials.map((each) => get('/api/v1/verify', bearer(each)))] },
  ])
  const verify = async (milliseconds: number) => {
    const job = { port, script: 'verify beside bulk', connections: 8, rate: VERIFICATIONS_PER_SECOND, milliseconds }
    return (await load.run(job)).p99
  }
  const getOperation = (id: string) => askData<Operation>(port, get(`${BULK}/${id}`, bearer(changed)))
  /** How long it took, and the p99 of each round of verifications during all of which it ran. */
  const carryOut = async (request: string) => {
    const begun = performance.now()
    const { _id } = (JSON.parse((await ask(port, request)).body) as { data: Operation }).data
    let ended = 0
    const watching = (async () => {
      while ((await getOperation(_id)).status === 'running') await pause(50)
      ended = performance.now()
    })()
    const p99s: number[] = []
    while (ended === 0) {
      const p99 = await verify(options.roundMs)
      if (ended === 0) p99s.push(p99)
    }
    await watching
    return { id: _id, seconds: (ended - begun) / 1_000, p99s }
  }
  await verify(options.warmMs)
  const before: number[] = []
  const beside: number[] = []
  const seconds: number[] = []
  let count = 0
  for (let round = 0; round < Math.min(options.rounds, 2); round++) {
    for (let n = 0; n < 3; n++) before.push(await verify(options.roundMs))
    const order = { action: 'disable', filter: { status: 'active' } }
    const off = await carryOut(withBody('POST', BULK, bearer(changed), order))
    count = (await getOperation(off.id)).done
    const on = await carryOut(withBody('POST', `${BULK}/${off.id}/undo`, bearer(changed), {}))
    seconds.push(off.seconds)
    beside.push(...off.p99s, ...on.p99s)
  }
  await server.stop()
  const ratio = median(beside) / median(before)
  const how = `${VERIFICATIONS_PER_SECOND} verifications/s of another account, in rounds of ${options.roundMs} ms before and during an operation and its undoing; embedded store`
  return [
    {
      what: `a bulk operation that disables ${count} tokens`,
      asked: 'reported',
      measured: `${median(seconds).toFixed(1)} s, ${Math.round(count / median(seconds))} tokens/s`,
      how: 'from the request to `done`, beside the verifications',
    },
    {
      what: 'a verification beside a bulk operation: p99',
      asked: '≤ 3× of before it',
      measured: `${ratio.toFixed(2)}× (${median(before).toFixed(1)} and ${median(beside).toFixed(1)} ms)`,
      met: ratio <= 3,
      how,
    },
  ]
}
