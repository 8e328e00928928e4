// What the client does when the service is slow, busy or gone: real servers on loopback that fail on purpose.
import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { createClient, LatchkeyError } from '../../client/latchkey-client.ts'
import { operations } from '../../client/operations.ts'
import { type OperationId, prepare } from '../../client/request.ts'
import { limitOf } from '../../client/send.ts'
import { LEASE_SECONDS } from '../../src/tokens/verifiers/lease.ts'
import { listen, openService, passOn, relay, type Service } from './world.ts'

const DATA = { status: true, data: { _id: 'tok_1' } }
const BODY = { subAccountId: 'sub_1', name: 'CI' }

interface Asked {
  readonly at: number
  readonly method: string
  readonly idempotencyKey: string | undefined
}

/** A server that answers its requests with these answers, one after the other, the last again and again. */
async function answering(
  answers: readonly ((response: ServerResponse, request: IncomingMessage) => void)[],
  run: (url: string, asked: readonly Asked[]) => Promise<void>,
): Promise<void> {
  const asked: Asked[] = []
  const server = await listen((request, response) => {
    const idempotencyKey = request.headers['idempotency-key'] as string | undefined
    asked.push({ at: performance.now(), method: request.method ?? '', idempotencyKey })
    const answer = answers[Math.min(asked.length, answers.length) - 1]
    request.resume().on('end', () => answer?.(response, request))
  })
  try {
    await run(server.url, asked)
  } finally {
    server.close()
  }
}

const succeed = (response: ServerResponse) => void response.writeHead(200).end(JSON.stringify(DATA))
const fail =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(status, headers).end('{}')
const hangUp = (_response: ServerResponse, request: IncomingMessage) => void request.socket.destroy()
const saySilent = () => undefined
const UNAVAILABLE = fail(503, { 'retry-after': '1', 'x-latchkey-error': 'unavailable' })

const errorOf = async (promise: Promise<unknown>): Promise<LatchkeyError> => {
  const error = await promise.then(
    () => assert.fail('not refused'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof LatchkeyError, String(error))
  return error
}

describe('a request that is safe to repeat', () => {
  test('is sent again after 503, not before the time that Retry-After names', () =>
    answering([UNAVAILABLE, succeed], async (baseUrl, asked) => {
      await createClient({ baseUrl, accountKey: 'k' }).getToken({ id: 'tok_1' })
      const [first, second] = asked
      assert.equal(asked.length, 2)
      assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= 1000)
    }))

  for (const [what, failure] of Object.entries({
    'a connection that was cut': hangUp,
    'a 429': fail(429, { 'retry-after': '0' }),
    'a 502 of a proxy': fail(502),
    'a 504 of a proxy': fail(504),
  })) {
    test(`is sent again after ${what}`, () =>
      answering([failure, succeed], async (baseUrl, asked) => {
        await createClient({ baseUrl, accountKey: 'k' }).getToken({ id: 'tok_1' })
        assert.equal(asked.length, 2)
      }))
  }

  test('is sent three times at most, and then rejects with what came last', () =>
    answering([fail(503, { 'x-latchkey-error': 'unavailable' })], async (baseUrl, asked) => {
      const { status, code } = await errorOf(createClient({ baseUrl, accountKey: 'k' }).listTokens())
      assert.deepEqual([status, code, asked.length], [503, 'unavailable', 3])
    }))

  test('is sent once where retries are 0, for the client or for one call', () =>
    answering([UNAVAILABLE], async (baseUrl, asked) => {
      await errorOf(createClient({ baseUrl, accountKey: 'k', retries: 0 }).listTokens())
      await errorOf(createClient({ baseUrl, accountKey: 'k' }).listTokens({}, { retries: 0 }))
      assert.equal(asked.length, 2)
    }))

  test('is not sent again after a wait of more than 30 seconds: the caller is told how long', () =>
    answering([fail(429, { 'retry-after': '31', 'x-latchkey-error': 'rate-limited' })], async (baseUrl, asked) => {
      const error = await errorOf(createClient({ baseUrl, accountKey: 'k' }).listTokens())
      assert.deepEqual([error.code, error.retryAfterSeconds, asked.length], ['rate-limited', 31, 1])
    }))

  test('waits for 30 seconds where the service asks for that', () =>
    answering([fail(503, { 'retry-after': '30' })], async (baseUrl, asked) => {
      const calledOff = new AbortController()
      const callOffWhenRead = async (...request: Parameters<typeof fetch>) => {
        const response = await fetch(...request)
        const read = response.clone().text()
        void read.then(() => setImmediate(() => calledOff.abort()))
        return response
      }
      const client = createClient({ baseUrl, accountKey: 'k', fetch: callOffWhenRead })
      // One that does not wait rejects with the failure.
      await assert.rejects(client.listTokens({}, { signal: calledOff.signal }), { name: 'AbortError' })
      assert.equal(asked.length, 1)
    }))

  test('a Retry-After that is a date is understood', () =>
    answering(
      [(response) => fail(429, { 'retry-after': 'Fri, 31 Dec 2999 23:59:59 GMT' })(response)],
      async (baseUrl) => {
        const { retryAfterSeconds = 0 } = await errorOf(createClient({ baseUrl, accountKey: 'k' }).listTokens())
        assert.ok(retryAfterSeconds > 1_000_000)
      },
    ))

  for (const status of [400, 401, 403, 404, 409, 412, 500]) {
    test(`is not sent again after ${status}: the answer would be the same`, () =>
      answering([fail(status)], async (baseUrl, asked) => {
        assert.equal((await errorOf(createClient({ baseUrl, accountKey: 'k' }).listTokens())).status, status)
        assert.equal(asked.length, 1)
      }))
  }

  test('can be called off while it waits for its next attempt', () =>
    answering([fail(503, { 'retry-after': '20' })], async (baseUrl, asked) => {
      const controller = new AbortController()
      const call = createClient({ baseUrl, accountKey: 'k' }).listTokens({}, { signal: controller.signal })
      while (asked.length === 0) await new Promise(setImmediate)
      setTimeout(() => controller.abort(), 50)
      await assert.rejects(call, { name: 'AbortError' })
      assert.equal(asked.length, 1)
    }))
})

describe('a creation', () => {
  test('is sent again with the same idempotency key, which the client makes', () =>
    answering([hangUp, UNAVAILABLE, succeed], async (baseUrl, asked) => {
      const client = createClient({ baseUrl, accountKey: 'k' })
      await client.createToken({ body: BODY })
      await client.createToken({ body: BODY })
      const keys = asked.map(({ idempotencyKey }) => idempotencyKey)
      assert.match(keys[0] ?? '', /^[0-9a-f]{32}$/)
      assert.deepEqual(keys.slice(0, 3), [keys[0], keys[0], keys[0]])
      assert.notEqual(keys[3], keys[0])
    }))

  test('and every other POST that changes something has a key, and is sent again', () =>
    answering([hangUp], async (baseUrl, asked) => {
      const client = createClient({ baseUrl, accountKey: 'k', retries: 1 })
      const posts = [
        () => client.rotateToken({ id: 'tok_1' }),
        () => client.revealToken({ id: 'tok_1' }),
        () => client.createSubAccount({ body: { name: 'a', email: 'a@b.example', companyName: 'c' } }),
        () => client.createKey({ body: { name: 'a', role: 'viewer' } }),
      ]
      for (const post of posts) await errorOf(post())
      const keys = asked.map(({ idempotencyKey }) => idempotencyKey)
      assert.equal(keys.length, 2 * posts.length)
      assert.equal(new Set(keys).size, posts.length)
      assert.ok(!keys.includes(undefined))
    }))

  test('keeps the key that the caller has chosen', () =>
    answering([succeed], async (baseUrl, asked) => {
      await createClient({ baseUrl, accountKey: 'k' }).createToken({ 'idempotency-key': 'mine', body: BODY })
      assert.equal(asked[0]?.idempotencyKey, 'mine')
    }))
})

describe('a change that is not safe to repeat', () => {
  const changes = (baseUrl: string) => {
    const client = createClient({ baseUrl, accountKey: 'k' })
    return [
      () => client.updateToken({ id: 'tok_1', body: { status: 'inactive' } }),
      () => client.updateToken({ id: 'tok_1', 'if-match': '"1"', body: { status: 'inactive' } }),
      () => client.deleteToken({ id: 'tok_1' }),
      () => client.patchToken({ id: 'tok_1', body: { tags: null } }),
      () => client.patchSubAccount({ id: 'sub_1', body: { name: 'a' } }),
    ]
  }

  for (const [what, failure] of Object.entries({
    'after its answer was lost': hangUp,
    'after an answer of a proxy': fail(503, { 'retry-after': '0' }),
    'when the service does not know whether it was made': fail(503, { 'x-latchkey-error': 'outcome-unknown' }),
  })) {
    test(`is not sent again ${what}`, () =>
      answering([failure], async (baseUrl, asked) => {
        const all = changes(baseUrl)
        for (const change of all) await errorOf(change())
        assert.equal(asked.length, all.length)
      }))
  }

  test('is sent again where the service says that it has done nothing', () =>
    answering(
      [fail(503, { 'x-latchkey-error': 'unavailable' }), fail(429, { 'x-latchkey-error': 'rate-limited' }), succeed],
      async (baseUrl, asked) => {
        await createClient({ baseUrl, accountKey: 'k' }).updateToken({ id: 'tok_1', body: { status: 'inactive' } })
        assert.equal(asked.length, 3)
      },
    ))
})

describe('a time limit', () => {
  test('ends each attempt, and says so', () =>
    answering([saySilent], async (baseUrl, asked) => {
      const client = createClient({ baseUrl, accountKey: 'k', timeoutMs: 1_000, retries: 1 })
      const { code, status, message } = await errorOf(client.listTokens())
      assert.deepEqual([code, status, asked.length], ['timeout', 0, 2])
      assert.match(message, / 1000 ms$/)
    }))

  test('is longer for every change than the longest lease of a verifier, for which the service may hold it', () => {
    for (const id of Object.keys(operations) as OperationId[]) {
      const request = prepare(id, { id: 'x', subAccountId: 'x', deliveryId: 'x' })
      const longest = request.isReading ? 0 : LEASE_SECONDS.most * 1_000 + 10_000
      assert.ok(limitOf(request, {}) >= Math.max(30_000, longest), id)
      assert.equal(limitOf(request, { timeoutMs: 7 }), 7)
    }
    assert.equal(limitOf(prepare('listTokens', {}), {}), 30_000)
  })

  test('holds until the whole answer is there, and for one call', () =>
    answering([(response) => void response.writeHead(200, { 'content-length': 9 }).write('{')], async (baseUrl) => {
      const client = createClient({ baseUrl, accountKey: 'k', timeoutMs: Number.POSITIVE_INFINITY })
      const change = client.updateToken({ id: 'tok_1', body: { status: 'inactive' } }, { timeoutMs: 50 })
      const { code, message } = await errorOf(change)
      assert.equal(code, 'timeout')
      assert.match(message, /or may not/)
    }))

  test('the caller’s own signal is not taken for it', () =>
    answering([saySilent], async (baseUrl) => {
      const signal = AbortSignal.timeout(20)
      const call = createClient({ baseUrl, accountKey: 'k' }).listTokens({}, { signal })
      await assert.rejects(call, (error) => !(error instanceof LatchkeyError))
    }))
})

describe('with the real service behind a proxy that loses answers', () => {
  let service: Service
  before(async () => {
    service = await openService()
  })
  after(() => service.close())

  /** The service has done everything it was asked; its first answer does not arrive. */
  const losingFirst = async (run: (baseUrl: string) => Promise<void>) => {
    let lost = false
    const proxy = await listen(async (request, response) => {
      const answer = await passOn(request, service.url)
      if (lost || request.method === 'GET') return relay(answer, response)
      lost = true
      answer.resume().on('end', () => request.socket.destroy())
    })
    try {
      await run(proxy.url)
    } finally {
      proxy.close()
    }
  }

  test('a token is made once, and the caller gets its credential all the same', () =>
    losingFirst(async (baseUrl) => {
      const { account, accountKey, operator } = service
      const owners = await operator.createSubAccounts(account.id, [
        { name: 'a', email: 'a@b.example', companyName: 'c' },
      ])
      const client = createClient({ baseUrl, accountKey })
      const made = await client.createToken({ body: { subAccountId: owners[0]?.id ?? '', name: 'made once' } })
      const { items, total } = await client.listTokens({ search: 'made once' })
      assert.deepEqual([total, items[0]?._id, items[0]?.token], [1, made._id, made.token])
    }))

  test('a rotation that waits for a verifier for longer than the time limit is made once, and its caller gets the credential', async () => {
    const { account, accountKey, operator, url: baseUrl } = service
    const permissions = { role: 'verifier', reveal: false, subAccounts: null } as const
    const { key } = await operator.createKey(account.id, 'verifies', null, permissions)
    // One that takes a lease, and is never heard of again.
    await createClient({ baseUrl, accountKey: key }).leaseVerifier({ body: { leaseSeconds: 2 } })
    const [owner] = await operator.createSubAccounts(account.id, [
      { name: 'a', email: 'a@b.example', companyName: 'c' },
    ])
    const attempts: number[] = []
    const onAttempt = ({ attempt }: { attempt: number }) => void attempts.push(attempt)
    const client = createClient({ baseUrl, accountKey, timeoutMs: 500, retries: 20, onAttempt })
    const made = await client.createToken({ body: { subAccountId: owner?.id ?? '', name: 'rotated' } })
    attempts.length = 0
    const rotated = await client.rotateToken({ id: made._id })
    assert.ok(attempts.length > 1)
    const { token, details } = await client.getToken({ id: made._id, include: 'details' })
    assert.deepEqual([rotated.token, details?.version], [token, 2])
    assert.notEqual(rotated.token, made.token)
  })

  test('a sub-account is made once, and the caller gets it all the same', () =>
    losingFirst(async (baseUrl) => {
      const client = createClient({ baseUrl, accountKey: service.accountKey })
      const body = { name: 'unsure', email: 'a@b.example', companyName: 'c' }
      const made = await client.createSubAccount({ body })
      const { items, total } = await client.listSubAccounts({ search: 'unsure' })
      assert.deepEqual([total, items[0]?._id], [1, made._id])
    }))

  test('an account key is made once, and the caller learns which one has to be replaced', () =>
    losingFirst(async (baseUrl) => {
      const client = createClient({ baseUrl, accountKey: service.accountKey })
      const { code, message } = await errorOf(client.createKey({ body: { name: 'lost', role: 'viewer' } }))
      const { _id } = (await client.listKeys()).items.find(({ name }) => name === 'lost') ?? {}
      assert.deepEqual([code, message.startsWith(`${_id} `)], ['credential-not-stored', true])
    }))

  test('a sub-account whose change is lost is changed at most once, and the caller learns that it may be', () =>
    losingFirst(async (baseUrl) => {
      const { account, accountKey, operator } = service
      const [owner] = await operator.createSubAccounts(account.id, [
        { name: 'a', email: 'a@b.example', companyName: 'c' },
      ])
      const client = createClient({ baseUrl, accountKey })
      const change = client.patchSubAccount({ id: owner?.id ?? '', body: { name: 'changed' } })
      const { code, message } = await errorOf(change)
      assert.equal(code, 'unreachable')
      assert.match(message, /or may not/)
    }))
})
