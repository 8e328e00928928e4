// The gate over real HTTP on both engines: while a decision waits for a verifier, no answer to a change passes, whatever it says.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Engine, Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections, type Heard } from '../support/http.ts'
import { postgresEngine } from '../support/postgres.ts'

const API = '/api/v1/apiClient'
/** They change nothing. */
const QUESTIONS = ['leaseVerifier', 'askVerdict', 'previewPolicy']
/** Round trips in which any of the answers would have come. */
const ROUND_TRIPS = 25

interface Lease {
  readonly lease: string
  readonly position: string
}
interface Operation {
  readonly operationId?: string
}

after(closeConnections)

for (const engine of [sqliteEngine, postgresEngine])
  describe(`the gate on the ${engine.name} store`, () => describeOn(engine))

function describeOn(engine: Engine): void {
  let estate: Estate
  let verifierKey: string

  before(async () => {
    estate = await Estate.open(engine, { LATCHKEY_LEAK_REPORTS: 'on' })
    const permissions = { role: 'verifier', reveal: false, subAccounts: null } as const
    verifierKey = (await estate.running.operator.createKey(estate.mine.accountId, 'verifies', null, permissions)).key
    estate.secrets.add(verifierKey)
  })
  after(() => estate.close())

  const lease = async (fields: object = { leaseSeconds: 60 }): Promise<Lease> => {
    const ask = { method: 'POST', path: `${API}/verifier/lease`, headers: [bearer(verifierKey)], body: fields } as const
    return (await estate.ask(ask)).json.data
  }
  const mine = (method: string, path: string, body?: object, headers: [string, string][] = []) =>
    estate.mineAsks({ method, path: `${API}/${path}`, headers, ...(body && { body }) })

  const endLeases = async () => {
    const { store } = estate.running
    for (let held = await store.listVerifiers({}); held.length > 0; held = await store.listVerifiers({})) {
      for (const { id, renewal } of held) await store.endLease(id, renewal)
    }
  }

  /** What is asked while a decision waits is answered after the verifier has confirmed the decision. */
  async function comesAfter(decide: () => Promise<Heard>, ask: () => readonly Promise<Heard>[]): Promise<Heard[]> {
    const held = await lease()
    const order: string[] = []
    const noted = (name: string) => (heard: Heard) => {
      order.push(name)
      return heard
    }
    const parked = lease({ lease: held.lease, position: held.position })
    const decided = decide().then(noted('answer'))
    const told = await parked
    const asked = ask().map((each) => each.then(noted('answer')))
    for (let n = 0; n < ROUND_TRIPS; n++) await mine('GET', 'token?limit=1')
    order.push('confirmed')
    const confirming = lease({ lease: told.lease, position: told.position })
    const answers = await Promise.all([decided, ...asked])
    assert.deepEqual(order, ['confirmed', ...answers.map(() => 'answer')])
    await endLeases()
    await mine('PATCH', `token/${(await estate.token()).id}`, { policy: { scopes: ['wakes'] } })
    await confirming
    return answers
  }
  const statuses = (answers: readonly Heard[]) => answers.map(({ status }) => status)

  test('the same rotation again, with its idempotency key', async () => {
    const { id } = await estate.token()
    const rotate = () => mine('POST', `token/${id}/rotate`, {}, [['idempotency-key', `rotation of ${id}`]])
    const answers = await comesAfter(rotate, () => [rotate()])
    assert.deepEqual(statuses(answers), [200, 200])
    assert.deepEqual(answers[1]?.json.data, answers[0]?.json.data)
    for (const { json } of answers) estate.secrets.add(json.data.token)
  })

  test('the same leak report again, with an idempotency key, without one, and by nobody', async () => {
    const { credential } = await estate.token()
    const report = (headers: [string, string][] = []) => mine('POST', 'leak', { text: credential }, headers)
    const key: [string, string] = ['idempotency-key', `leak of ${credential.slice(-4)}`]
    const anonymous = { method: 'POST', path: '/api/v1/leaks/report', body: { credentials: [credential] } } as const
    const answers = await comesAfter(
      () => report([key]),
      () => [report([key]), report(), estate.ask(anonymous)],
    )
    assert.deepEqual(statuses(answers), [200, 200, 200, 202])
  })

  test('a bulk operation that finds nothing left', async () => {
    const { id, subAccount } = await estate.token({ subAccountId: estate.mine.subAccounts[2].id })
    const order = { action: 'disable', filter: { subAccountId: subAccount.id, status: 'active' } }
    const answers = await comesAfter(
      () => mine('PUT', `token/${id}`, { status: 'inactive' }),
      () => [mine('POST', 'token/bulk', order)],
    )
    assert.deepEqual(statuses(answers), [200, 202])
    assert.equal(answers[1]?.json.data.total, 0)
  })

  test('a change that is there already, one that is refused, and one that decides nothing', async () => {
    const [{ id }, other] = [await estate.token(), await estate.token()]
    const answers = await comesAfter(
      () => mine('PUT', `token/${id}`, { status: 'inactive' }),
      () => [
        mine('PUT', `token/${id}`, { status: 'inactive' }),
        mine('PUT', 'token/tok_nothing', { status: 'inactive' }),
        mine('PUT', `token/${other.id}`, { name: estate.freshName() }),
      ],
    )
    assert.deepEqual(statuses(answers), [200, 200, 404, 200])
  })

  test('an answer of every route that changes anything, whatever it says', async () => {
    const { id } = await estate.token()
    const { paths } = (await estate.ask({ path: '/openapi.json' })).json
    const routes = Object.entries<Record<string, Operation>>(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { operationId = '' }]) => ({ method, path, operationId })),
    )
    const changes = routes.filter(({ method, path, operationId }) => {
      return method !== 'get' && path.startsWith(API) && !QUESTIONS.includes(operationId)
    })
    assert.ok(changes.length > 20, `${changes.length} routes`)
    const asked = () =>
      changes.map(({ method, path }) =>
        mine(method.toUpperCase(), path.slice(API.length + 1).replaceAll(/\{\w+\}/g, 'nothing'), {}),
      )
    const answers = await comesAfter(() => mine('PUT', `token/${id}`, { status: 'inactive' }), asked)
    for (const { status, text } of answers.slice(1)) assert.ok(status >= 400 && status < 500, text)
  })

  test('undoing what was ordered before leaves off what was ordered off, or reported, since', async () => {
    const subAccountId = estate.mine.subAccounts[1].id
    const [ordered, reported, untouched] = [
      await estate.token({ subAccountId }),
      await estate.token({ subAccountId }),
      await estate.token({ subAccountId }),
    ]
    const over = async (path: string, body: object) => {
      const { _id } = (await mine('POST', path, body)).json.data
      for (;;) {
        const { data } = (await mine('GET', `token/bulk/${_id}`)).json
        if (data.status !== 'running') return data
      }
    }
    const done = await over('token/bulk', { action: 'disable', filter: { subAccountId } })
    assert.deepEqual([done.status, done.done], ['done', 3])
    assert.equal((await mine('PUT', `token/${ordered.id}`, { status: 'inactive' })).status, 200)
    assert.equal((await mine('POST', 'leak', { text: reported.credential })).json.data.disabled, 0)
    const undone = await over(`token/bulk/${done._id}/undo`, {})
    assert.equal(undone.status, 'undone')
    const statuses = await Promise.all(
      [ordered, reported, untouched].map(async ({ id }) => (await mine('GET', `token/${id}`)).json.data.status),
    )
    assert.deepEqual(statuses, ['inactive', 'inactive', 'active'])
  })

  test('a rename waits for no verifier that has confirmed all decisions, dead or alive', async () => {
    const { id } = await estate.token()
    await lease()
    const renamed = await mine('PATCH', `token/${id}`, { name: estate.freshName(), metadata: { a: 1 }, tags: ['a'] })
    assert.deepEqual([renamed.status, renamed.headers['x-latchkey-confirmed']], [200, '1/1'])
    await endLeases()
  })
}
