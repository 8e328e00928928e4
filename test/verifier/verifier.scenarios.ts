// What a verifier promises, against the real service on either engine.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createVerifier, type Verifier, type VerifierOptions } from '../../client/verifier/verifier.ts'
import { startServer } from '../../src/serve/serving.ts'
import { type Engine, Estate } from '../support/estate.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { Clocks, change, Network, optionsOf, verifierKey } from './world.ts'

/** A busy machine takes less time for anything here: each verifier has one lease, and keeps it. */
const LONG = { leaseSeconds: 60 }

export function describeVerifiers(engine: Engine): void {
  describe(`verifiers on the ${engine.name} store`, () => {
    let estate: Estate
    let key: string
    const open: Verifier[] = []
    const others: Awaited<ReturnType<typeof startServer>>[] = []
    before(async () => {
      estate = await Estate.open(engine)
      key = await verifierKey(estate)
    })
    after(async () => {
      await Promise.all(open.map((each) => each.close()))
      closeConnections()
      await Promise.all(others.map((each) => each.stop()))
      await estate.close()
    })

    /** Another process on the same store, as far as the store can tell. */
    async function serve(port = 0) {
      const other = await startServer({ ...estate.config, port })
      others.push(other)
      return other
    }

    async function start(url = estate.url, more: Pick<VerifierOptions, 'leaseSeconds' | 'onLeaseLost'> = {}) {
      const [clocks, network] = [new Clocks(), new Network()]
      const verifier = await createVerifier({ ...optionsOf(url, key, clocks, network), ...more })
      open.push(verifier)
      return { verifier, clocks, network }
    }

    /** So that later changes of this file do not wait for it. */
    async function end(...verifiers: readonly Verifier[]): Promise<void> {
      await Promise.all(verifiers.map((each) => each.close()))
    }

    const said = async (verifier: Verifier, credential: string, access = {}) => {
      const verdict = await verifier.verify(credential, access)
      return [verdict.accepted ? 'accepted' : verdict.reason, verdict.source]
    }
    /** Asks until it is remembered. */
    const warm = async (verifier: Verifier, credential: string) => {
      while ((await verifier.verify(credential)).source !== 'memory') await setImmediate()
    }

    test('show every change when it is answered, off and on, wherever it was made', async () => {
      const other = await serve()
      const started = [await start(estate.url, LONG), await start(other.url, LONG), await start(estate.url, LONG)]
      const all = started.map(({ verifier }) => verifier)
      const { id, credential } = await estate.token()
      for (let round = 0; round < 6; round++) {
        await Promise.all(all.map((each) => warm(each, credential)))
        const status = round % 2 === 0 ? 'inactive' : 'active'
        const { headers } = await change(estate, id, { status }, round % 3 === 0 ? other.url : estate.url)
        assert.equal(headers['x-latchkey-confirmed'], '3/3')
        for (const each of all) {
          const [verdict] = await said(each, credential)
          assert.equal(verdict, status === 'active' ? 'accepted' : 'inactive')
        }
      }
      await end(...all)
    })

    test('decide address and scope from memory, as the service would', async () => {
      const { verifier } = await start()
      const { id, credential } = await estate.token()
      await change(estate, id, { policy: { scopes: ['orders:*'], addresses: ['203.0.113.0/24'] } })
      const inside = { address: '203.0.113.7' }
      assert.deepEqual(await said(verifier, credential, inside), ['accepted', 'service'])
      assert.deepEqual(await said(verifier, credential, { ...inside, scope: 'orders:read' }), ['accepted', 'memory'])
      assert.deepEqual(await said(verifier, credential, { ...inside, scope: 'items:read' }), ['scope', 'memory'])
      assert.deepEqual(await said(verifier, credential, { address: '198.51.100.1' }), ['address', 'memory'])
      assert.deepEqual(await said(verifier, credential), ['address', 'memory'])
      await assert.rejects(verifier.verify(credential, { scope: '' }), { code: 'invalid-request' })
      await end(verifier)
    })

    test('ask the service each time about a token with a rate, about an unknown one, and never about a wrong checksum', async () => {
      const { verifier } = await start()
      const { id, credential } = await estate.token()
      await change(estate, id, { policy: { quota: { limit: 2, per: 'ever' } } })
      for (const verdict of ['accepted', 'accepted', 'quota']) {
        assert.deepEqual(await said(verifier, credential), [verdict, 'service'])
      }
      assert.deepEqual(await said(verifier, 'imported-credential-of-nobody'), ['unknown', 'service'])
      assert.deepEqual(await said(verifier, `${credential.slice(0, -1)}_`), ['unknown', 'memory'])
      await end(verifier)
    })

    test('show the suspension of a sub-account, and a new credential', async () => {
      const { verifier } = await start()
      const { credential, subAccount } = await estate.token()
      await warm(verifier, credential)
      const path = `/api/v1/apiClient/sub-account/${subAccount.id}`
      const patch = (status: string) => estate.mineAsks({ method: 'PATCH', path, body: { status } })
      assert.equal((await patch('suspended')).status, 200)
      assert.deepEqual(await said(verifier, credential), ['suspended', 'service'])
      assert.equal((await patch('active')).status, 200)
      assert.deepEqual(await said(verifier, credential), ['accepted', 'service'])
      const { id, credential: former } = await estate.token()
      await warm(verifier, former)
      const rotate = { method: 'POST', path: `/api/v1/apiClient/token/${id}/rotate`, body: {} }
      const { json } = await estate.mineAsks(rotate)
      estate.secrets.add(json.data.token)
      assert.equal((await verifier.verify(former)).accepted, false)
      assert.equal((await verifier.verify(json.data.token)).accepted, true)
      await end(verifier)
    })

    test('say unavailable when the service is away and the lease has run out, and memory until then', async () => {
      const { verifier, clocks, network } = await start()
      const { credential } = await estate.token()
      await warm(verifier, credential)
      network.cut('lease', 'verify')
      assert.deepEqual(await said(verifier, credential), ['accepted', 'memory'])
      assert.deepEqual((await said(verifier, (await estate.token()).credential))[0], 'unavailable')
      clocks.pass(2_000)
      assert.equal(verifier.state.lease, 'lost')
      assert.deepEqual(await said(verifier, credential), ['unavailable', 'service'])
      await end(verifier)
    })

    test('do not answer from memory after the machine was suspended, though its monotonic clock stood still', async () => {
      const { verifier, clocks, network } = await start()
      const { id, credential } = await estate.token()
      await warm(verifier, credential)
      network.cut('lease')
      clocks.suspend(2_000)
      assert.deepEqual(await said(verifier, credential), ['accepted', 'service'])
      await change(estate, id, { status: 'inactive' })
      assert.deepEqual(await said(verifier, credential), ['inactive', 'service'])
      await end(verifier)
    })

    test('that are cut off delay a change by their lease at most, and know that they have lost it', async () => {
      const { verifier, network } = await start()
      const { id, credential } = await estate.token()
      await warm(verifier, credential)
      network.cut('lease')
      const { headers } = await change(estate, id, { status: 'inactive' })
      // On a busy machine it has begun another lease, since the answer to the first one came late.
      assert.match(String(headers['x-latchkey-confirmed']), /^0\//)
      assert.deepEqual(await said(verifier, credential), ['inactive', 'service'])
      network.cut()
      await end(verifier)
    })

    test('do not remember an answer that was read before a change and arrives after it', async () => {
      const { verifier, network } = await start()
      const { id, credential } = await estate.token()
      const { arrived, release } = network.hold('verify')
      const early = verifier.verify(credential)
      await arrived
      await change(estate, id, { status: 'inactive' })
      release()
      assert.equal((await early).accepted, true)
      assert.deepEqual(await said(verifier, credential), ['inactive', 'service'])
      await end(verifier)
    })

    test('do not share an answer in flight with a verification that began after a change', async () => {
      const { verifier, network } = await start()
      const { id, credential } = await estate.token()
      const { arrived, release } = network.hold('verify')
      const early = verifier.verify(credential)
      await arrived
      await change(estate, id, { status: 'inactive' })
      const later = verifier.verify(credential)
      release()
      assert.equal((await early).accepted, true)
      assert.equal((await later).accepted, false)
      await end(verifier)
    })

    test('keep their lease over a restart of the service, and confirm changes to the new process', async () => {
      const first = await serve()
      const { verifier } = await start(first.url, LONG)
      const { id, credential } = await estate.token()
      await warm(verifier, credential)
      await first.stop()
      const port = Number(new URL(first.url).port)
      const second = await serve(port)
      assert.deepEqual(await said(verifier, credential), ['accepted', 'memory'])
      const { headers } = await change(estate, id, { status: 'inactive' }, second.url)
      assert.match(String(headers['x-latchkey-confirmed']), /^[01]\/1$/)
      assert.equal((await said(verifier, credential))[0], 'inactive')
      await end(verifier)
    })

    test('give their lease back when they are closed, so that no change waits, and ask the service from then on', async () => {
      const { verifier } = await start(estate.url, LONG)
      const { id, credential } = await estate.token()
      await warm(verifier, credential)
      await verifier.close()
      const { headers } = await change(estate, id, { name: estate.freshName() })
      assert.equal(headers['x-latchkey-confirmed'], undefined)
      assert.deepEqual(await said(verifier, credential), ['accepted', 'service'])
    })

    test('report uses, so that the last use of a token is known', async () => {
      const { verifier } = await start()
      const { id, credential } = await estate.token()
      await warm(verifier, credential)
      await end(verifier)
      const path = `/api/v1/apiClient/token/${id}?include=details`
      const usedAt = async () => (await estate.mineAsks({ path })).json.data.details.lastUsedAt
      await estate.running.registry.verification.uses.flush()
      assert.notEqual(await usedAt(), null)
    })

    test('report how often each token was accepted and refused, once each, though an answer is lost on the way', async () => {
      const { verifier, network } = await start()
      const { id, credential } = await estate.token({ policy: { scopes: ['a'] } as never })
      await warm(verifier, credential)
      const { fromMemory, fromService } = verifier.state
      const held = network.hold('lease')
      for (let n = 0; n < 10; n++) await said(verifier, credential, { scope: n < 3 ? 'b' : 'a' })
      // A change makes the service answer: the report of the next call has arrived, and its answer does not.
      await change(estate, id, { name: estate.freshName() })
      await held.arrived
      network.cut('lease')
      held.release()
      for (let n = 0; n < 5; n++) await said(verifier, credential, { scope: 'a' })
      network.cut()
      await end(verifier)
      const sum = async () => {
        await estate.running.registry.verification.flush()
        const { json } = await estate.mineAsks({ path: `/api/v1/apiClient/token/${id}/usage` })
        const buckets = json.data.buckets as readonly { accepted: number; refused: { scope: number } }[]
        const add = (of: (bucket: (typeof buckets)[number]) => number) =>
          buckets.reduce((all, each) => all + of(each), 0)
        return [add(({ accepted }) => accepted), add(({ refused }) => refused.scope)]
      }
      const warmed = fromMemory + fromService
      assert.deepEqual(await sum(), [warmed + 12, 3])
      assert.deepEqual(await sum(), [warmed + 12, 3])
    })

    test('report the use of a former credential, and from where', async () => {
      const { verifier } = await start()
      const { id, credential } = await estate.token()
      const rotate = { method: 'POST', path: `/api/v1/apiClient/token/${id}/rotate`, body: { overlapSeconds: 600 } }
      await estate.mineAsks(rotate)
      const path = `/api/v1/apiClient/token/${id}?include=details`
      const former = async () => {
        await estate.running.registry.verification.flush()
        const { details } = (await estate.mineAsks({ path })).json.data
        return [details.formerCredentialLastUsedAt, details.formerCredentialLastUsedFrom]
      }
      assert.deepEqual(await former(), [null, null])
      await warm(verifier, credential)
      await said(verifier, credential, { address: '203.0.113.9' })
      await end(verifier)
      const [at, from] = await former()
      assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
      assert.ok(from === null || from === '203.0.113.9', from)
    })

    test('that accept a former credential keep their lease', async () => {
      const { verifier } = await start(estate.url, LONG)
      const { id, credential } = await estate.token()
      const rotate = { method: 'POST', path: `/api/v1/apiClient/token/${id}/rotate`, body: { overlapSeconds: 600 } }
      await estate.mineAsks(rotate)
      await warm(verifier, credential)
      // The first change is answered by the call that was sent before, the second one by the call that has the report.
      for (const status of ['inactive', 'active']) {
        const { headers } = await change(estate, id, { status })
        assert.equal(headers['x-latchkey-confirmed'], '1/1')
        const [verdict] = await said(verifier, credential)
        assert.equal(verdict, status === 'active' ? 'accepted' : 'inactive')
      }
      await end(verifier)
    })

    test('report from where a token was accepted and why it was refused, and no address that is none', async () => {
      const { verifier } = await start()
      const { id, credential } = await estate.token({ policy: { scopes: ['a'] } as never })
      await warm(verifier, credential)
      for (const address of ['203.0.113.9', '203.0.113.10', 'x'.repeat(10_000)]) {
        await said(verifier, credential, { address })
        assert.deepEqual(await said(verifier, credential, { scope: 'b', address }), ['scope', 'memory'])
      }
      await end(verifier)
      const path = `/api/v1/apiClient/token/${id}/recent`
      const known = async () => {
        await estate.running.registry.verification.flush()
        const { accepted, refused } = (await estate.mineAsks({ path })).json.data as Record<
          'accepted' | 'refused',
          { reason: string; address: string | null }[]
        >
        return {
          accepted: new Set(accepted.map(({ address }) => address)),
          refused: new Set(refused.map(({ reason, address }) => `${reason} ${address}`)),
        }
      }
      const addresses = ['203.0.113.9', '203.0.113.10', null]
      const all = { accepted: new Set(addresses), refused: new Set(addresses.map((address) => `scope ${address}`)) }
      assert.deepEqual(await known(), all)
    })

    test('say that they have lost their lease, and why: cut off for too long, removed, evicted', async () => {
      const told = new Set<string>()
      const { verifier, clocks, network } = await start(estate.url, { onLeaseLost: ({ code }) => told.add(code) })
      const { accountId } = estate.mine
      const { store } = estate.running
      const until = async (code: string, act: () => unknown = () => {}) => {
        for (; !told.has(code); await setImmediate()) await act()
      }
      network.cut('lease')
      clocks.pass(2_000)
      // On a busy machine a call may have taken too long before.
      while (!told.has('unreachable') && !told.has('timeout')) await setImmediate()
      assert.equal(verifier.state.lease, 'lost')
      network.cut()
      while (verifier.state.lease === 'lost') await setImmediate()
      await until('lease-lost', async () => {
        const all = await store.listVerifiers({ accountIds: [accountId] })
        for (const { id, renewal } of all) await store.endLease(id, renewal)
      })
      while (verifier.state.lease === 'lost') await setImmediate()
      for (const { id } of await store.listVerifiers({ accountIds: [accountId] })) {
        await estate.mineAsks({ method: 'DELETE', path: `/api/v1/apiClient/verifier/${id}` })
      }
      await until('verifier-evicted')
      assert.equal(verifier.state.lease, 'lost')
      await end(verifier)
    })

    test('that are evicted go on by asking the service', async () => {
      const { verifier } = await start()
      const { credential } = await estate.token()
      await warm(verifier, credential)
      const list = await estate.mineAsks({ path: '/api/v1/apiClient/verifier' })
      for (const { _id } of list.json.data.items) {
        const path = `/api/v1/apiClient/verifier/${_id}`
        assert.equal(
          (await send(estate.url, { method: 'DELETE', path, headers: [bearer(estate.mine.key)] })).status,
          200,
        )
      }
      while (verifier.state.entries > 0) await setImmediate()
      assert.equal(verifier.state.lease, 'lost')
      assert.deepEqual(await said(verifier, credential), ['accepted', 'service'])
      assert.deepEqual(await said(verifier, credential), ['accepted', 'service'])
      await end(verifier)
    })

    test('with a key that the service refuses are not started', async () => {
      const options = optionsOf(estate.url, newKeyOfNobody, new Clocks(), new Network())
      await assert.rejects(createVerifier(options), { name: 'NotAuthenticatedError' })
    })
  })
}

const newKeyOfNobody = 'not-a-key-of-anybody'
