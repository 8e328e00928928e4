// Verifiers in a process of their own. Prints that it is ready as a server does, so that it is measured like one.
import { setImmediate as turn } from 'node:timers/promises'
import { createVerifier, type Verifier } from '../client/verifier/verifier.ts'

export type Order =
  | {
      readonly begin: {
        readonly url: string
        readonly key: string
        readonly count: number
        readonly leaseSeconds: number
      }
    }
  /** The first of them verifies all of these, again and again, so many times in all. */
  | { readonly verify: { readonly credentials: readonly string[]; readonly times: number } }

/** A lease is only renewed while the event loop turns. */
const VERIFICATIONS_PER_TURN = 500

const verifiers: Verifier[] = []

process.on('message', async (order: Order) => {
  process.send?.('begin' in order ? await begin(order.begin) : await verify(order.verify))
})
process.on('SIGTERM', async () => {
  await Promise.all(verifiers.map((verifier) => verifier.close()))
  process.exit()
})
console.log('ready at http://127.0.0.1:0')

async function begin({ url, key, count, leaseSeconds }: Extract<Order, { begin: object }>['begin']) {
  for (let n = 0; n < count; n++)
    verifiers.push(await createVerifier({ baseUrl: url, key, leaseSeconds, name: `bench ${n}` }))
  return { begun: count }
}

async function verify({ credentials, times }: Extract<Order, { verify: object }>['verify']) {
  const [verifier] = verifiers
  if (verifier === undefined) throw new Error('there is no verifier')
  const { fromMemory } = verifier.state
  const before = process.cpuUsage()
  for (let n = 0; n < times; n++) {
    const { accepted } = await verifier.verify(credentials[n % credentials.length] ?? '')
    if (!accepted) throw new Error('a verification was refused')
    if (n % VERIFICATIONS_PER_TURN === 0) await turn()
  }
  const { user, system } = process.cpuUsage(before)
  return { cpuMicros: (user + system) / times, fromMemory: (verifier.state.fromMemory - fromMemory) / times }
}
