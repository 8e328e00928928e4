// Credentials that are masked, revealed one at a time, or shown once and never stored.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { type Engine, openedBefore } from '../support/estate.ts'
import { bearer, type Heard } from '../support/http.ts'

const API = '/api/v1/apiClient'
const TOKEN = `${API}/token`

const idsOf = ({ json }: Heard): string[] => json.data.items.map(({ _id }: { _id: string }) => _id)

export function describeCredentials(engine: Engine): void {
  describe(`credentials, on the ${engine.name} store`, () => {
    const estate = openedBefore(engine)

    const mine = (path: string, method = 'GET', body?: unknown) => estate.mineAsks({ method, path, body })
    const verify = (credential: string) => estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })

    for (const [what, credential, masked] of [
      ['one of our own by its kind and last four', undefined, /^lk_tok_…[0-9A-Za-z]{4}$/],
      ['an imported one by its last four', 'imported-credential-D7wZ', /^…D7wZ$/],
      ['a short one not at all', 'short-one-12345', /^…$/],
    ] as const) {
      test(`masked shows ${what}, in lists, in details, and after a change`, async () => {
        const made = await estate.token(credential === undefined ? {} : { credential })
        for (const path of [
          `${TOKEN}/${made.id}?credentials=masked`,
          `${TOKEN}/${made.id}?credentials=masked&include=details`,
        ]) {
          assert.match((await mine(path)).json.data.token, masked)
        }
        for (const method of ['PUT', 'PATCH']) {
          const changed = await mine(`${TOKEN}/${made.id}?credentials=masked`, method, { status: 'active' })
          assert.match(changed.json.data.token, masked)
        }
        const { items } = (await mine(`${TOKEN}?credentials=masked&limit=100`)).json.data
        const listed = items.find(({ _id }: { _id: string }) => _id === made.id)
        assert.match(listed.token, masked)
        assert.equal((await mine(`${TOKEN}/${made.id}`)).json.data.token, made.credential)
      })
    }

    test('credentials takes no other value', async () => {
      const { status, json } = await mine(`${TOKEN}?credentials=shown`)
      assert.equal(status, 400)
      assert.match(json.error.message, /^credentials .*masked$/)
    })

    test('revealing one is in the history, with who and from where, and changes no version', async () => {
      const made = await estate.token()
      const before = await mine(`${TOKEN}/${made.id}`)
      const revealed = await mine(`${TOKEN}/${made.id}/reveal`, 'POST')
      assert.equal(revealed.json.data.token, made.credential)
      assert.equal(revealed.headers.etag, before.headers.etag)
      const [entry] = (await mine(`${TOKEN}/${made.id}/history`)).json.data.items
      assert.deepEqual([entry.action, entry.byName, entry.address], ['token.reveal', 'works', '127.0.0.1'])
      assert.ok(!JSON.stringify(entry).includes(made.credential))
    })

    test('the end of a credential finds its token, as it is written, and a rotation changes it', async () => {
      const made = await estate.token({ name: 'nothing of the kind' })
      const find = async (four: string) => idsOf(await mine(`${TOKEN}?credentialEnd=${four}`))
      assert.deepEqual(await find(made.credential.slice(-4)), [made.id])
      const rotated = (await mine(`${TOKEN}/${made.id}/rotate`, 'POST', {})).json.data.token
      assert.deepEqual(await find(rotated.slice(-4)), [made.id])
      assert.deepEqual(await find(made.credential.slice(-4)), [])
    })

    test('a search is for the name alone, and the end of a credential for the credential alone', async () => {
      const imported = (end: string) => `${newCredential('tok').slice(7, 40)}${end}`
      const made = await estate.token({ name: 'nothing of it', credential: imported('xq7z') })
      const named = await estate.token({ name: 'all of XQ7Z', credential: imported('XQ7Z') })
      const both = await estate.token({ name: 'xq7z itself', credential: imported('xq7z') })
      const list = (query: string) => mine(`${TOKEN}?${query}`)
      assert.deepEqual(idsOf(await list('search=xq7z')), [both.id, named.id])
      const ended = await list('credentialEnd=xq7z')
      assert.deepEqual(idsOf(ended), [both.id, made.id])
      assert.equal(ended.json.data.total, 2)
      assert.deepEqual(idsOf(await list('credentialEnd=xq7z&search=xq7z')), [both.id])
      assert.deepEqual(idsOf(await list('credentialEnd=xq7z&status=inactive')), [])
    })

    test('a retried creation shows the credential to who has made the token, until it is changed, and to no other', async () => {
      const { operator } = estate.running
      const manager = { role: 'manager', reveal: false, subAccounts: null } as const
      const [own, other] = [
        await operator.createKey(estate.mine.accountId, 'own', null, manager),
        await operator.createKey(estate.mine.accountId, 'other', null, manager),
      ]
      const body = { subAccountId: estate.mine.subAccounts[0].id, name: 'retried' }
      const ask = ({ key }: { key: string }) => {
        const headers = [bearer(key), ['idempotency-key', 'retried']] as const
        return estate.ask({ method: 'POST', path: TOKEN, body, headers })
      }
      const create = async (by: { key: string }) => (await ask(by)).json.data
      const made = await create(own)
      assert.equal((await verify(made.token)).status, 204)
      assert.deepEqual(await create(own), made)
      const masked = { ...made, token: `lk_tok_…${made.token.slice(-4)}` }
      // Another caller's key is another request.
      assert.equal((await ask(other)).headers['x-latchkey-error'], 'duplicate-name')
      await mine(`${TOKEN}/${made._id}`, 'PATCH', { tags: ['changed'] })
      assert.deepEqual(await create(own), masked)
    })

    test('credentials of an account that shows them once are shown once, work, and are stored nowhere', async () => {
      const { operator } = estate.running
      const [subAccount] = estate.theirs.subAccounts
      const [before] = await operator.createTokens([
        { accountId: estate.theirs.accountId, subAccountId: subAccount.id, name: 'made before' },
      ])
      await operator.setCredentials(estate.theirs.accountId, 'once')
      const ask = (path: string, method = 'GET', body?: unknown) =>
        estate.ask({ method, path, body, headers: [bearer(estate.theirs.key)] })
      const create = () =>
        estate.ask({
          method: 'POST',
          path: TOKEN,
          body: { subAccountId: subAccount.id, name: 'made after' },
          headers: [bearer(estate.theirs.key), ['idempotency-key', 'once']],
        })
      const { _id, token: credential } = (await create()).json.data
      const retried = await create()
      assert.deepEqual([retried.status, retried.headers['x-latchkey-error']], [409, 'credential-not-stored'])
      assert.equal((await verify(credential)).status, 204)
      const masked = `lk_tok_…${credential.slice(-4)}`
      for (const path of [`${TOKEN}/${_id}`, `${TOKEN}/${_id}?include=details`]) {
        assert.equal((await ask(path)).json.data.token, masked)
      }
      const reveal = await ask(`${TOKEN}/${_id}/reveal`, 'POST')
      assert.deepEqual([reveal.status, reveal.headers['x-latchkey-error']], [409, 'credential-not-stored'])
      const rotated = (await ask(`${TOKEN}/${_id}/rotate`, 'POST', { overlapSeconds: 60 })).json.data.token
      assert.equal((await verify(rotated)).status, 204)
      assert.equal((await verify(credential)).status, 204)
      assert.equal((await ask(`${TOKEN}/${_id}`)).json.data.token, `lk_tok_…${rotated.slice(-4)}`)
      assert.equal((await ask(`${TOKEN}/${_id}/explain`)).json.data.accepted, true)
      const older = (await ask(`${TOKEN}/${before?.id}`)).json.data
      assert.match(older.token, /^lk_tok_…[0-9A-Za-z]{4}$/)
      for (const secret of [credential, rotated]) estate.secrets.add(secret)
      assert.deepEqual(await estate.whereSecretsLie(), [])
    })

    test('back from that, new credentials can be shown again, and old ones cannot', async () => {
      const { operator } = estate.running
      await operator.setCredentials(estate.theirs.accountId, null)
      const ask = (path: string, method = 'GET', body?: unknown) =>
        estate.ask({ method, path, body, headers: [bearer(estate.theirs.key)] })
      const [change] = (await ask(`${API}/history?limit=1`)).json.data.items
      assert.deepEqual([change.from, change.to], [{ credentials: 'once' }, { credentials: null }])
      const { items } = (await ask(TOKEN)).json.data
      for (const { token } of items) assert.match(token, /…/)
      const [subAccount] = estate.theirs.subAccounts
      const { _id, token } = (await ask(TOKEN, 'POST', { subAccountId: subAccount.id, name: 'again' })).json.data
      assert.equal((await ask(`${TOKEN}/${_id}`)).json.data.token, token)
    })

    test('account keys say when they were last used', async () => {
      const { key, id } = await estate.running.operator.createKey(estate.mine.accountId, 'used', null)
      await estate.ask({ path: `${API}/whoami`, headers: [bearer(key)] })
      await estate.running.registry.verification.uses.flush()
      const { items } = (await mine(`${API}/key?limit=100`)).json.data
      const found = items.find(({ _id }: { _id: string }) => _id === id)
      assert.ok(Math.abs(Date.parse(found.lastUsedAt) - Date.now()) < 60_000)
    })
  })
}
