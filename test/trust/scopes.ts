// A key for some sub-accounts: for random estates and keys, everything it sees is what an oracle says it may see, which knows all
// that the owner sees.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Engine, Estate } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'
import { runs } from '../support/runs.ts'
import { chances } from '../support/seed.ts'

const API = '/api/v1/apiClient'
const SUB_ACCOUNTS = 6
const TOKENS = 60
const WORDS = ['alpha', 'beta', 'gamma', 'delta']

interface Entry {
  readonly subject: string
  readonly seq: number | string
}

const withoutSeq = ({ seq: _, ...entry }: Entry) => entry

export function describeScopes(engine: Engine): void {
  describe(`what a key for some sub-accounts sees, on the ${engine.name} store`, () => {
    const chance = chances('scopes')
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(chance() * items.length)] as Item
    let estate: Estate
    let subAccounts: readonly string[]
    /** Of every token there ever was. */
    const ownerOf = new Map<string, string>()

    before(async () => {
      estate = await Estate.open(engine)
      const { operator, registry } = estate.running
      const { accountId } = estate.mine
      const made = await operator.createSubAccounts(
        accountId,
        Array.from({ length: SUB_ACCOUNTS }, (_, i) => ({
          name: `${pick(WORDS)} ${i}`,
          email: `s${i}@example.com`,
          companyName: `Company ${i}`,
        })),
      )
      subAccounts = made.map(({ id }) => id)
      const caller = operator.actFor(accountId)
      for (let i = 0; i < TOKENS; i++) {
        const subAccountId = pick(subAccounts)
        const status = chance() < 0.5 ? 'active' : 'inactive'
        const tags = chance() < 0.3 ? ['blue'] : null
        const { id } = await estate.token({ subAccountId, name: `${pick(WORDS)} ${i}`, status, tags })
        ownerOf.set(id, subAccountId)
        if (chance() < 0.2)
          await registry.updateToken(caller, id, { name: `${pick(WORDS)} renamed ${i}` }, operator.origin())
        if (chance() < 0.1) await registry.deleteToken(caller, id, operator.origin())
      }
      await registry.updateSubAccount(caller, pick(subAccounts), { status: 'suspended' }, operator.origin())
    })
    after(async () => {
      closeConnections()
      await estate.close()
    })

    const askAll = async (path: string, key: string) => {
      const found: Record<string, unknown>[] = []
      for (let page = 1; ; page++) {
        const separator = path.includes('?') ? '&' : '?'
        const { status, json, text } = await estate.ask({
          path: `${API}${path}${separator}page=${page}&limit=7`,
          headers: [bearer(key)],
        })
        assert.equal(status, 200, text)
        found.push(...json.data.items)
        if (!json.data.hasNextPage) {
          assert.equal(json.data.total, found.length, path)
          return found
        }
      }
    }

    test('lists, totals, searches, history and overview are those of its sub-accounts alone', async () => {
      for (let n = 0; n < runs(6, 60); n++) {
        const chosen = subAccounts.filter(() => chance() < 0.4)
        const scope = chosen.length === 0 ? [pick(subAccounts)] : chosen
        const permissions = { role: 'viewer', reveal: chance() < 0.5, subAccounts: scope } as const
        const { key } = await estate.running.operator.createKey(estate.mine.accountId, 'scoped', null, permissions)
        const isSeen = (id: string) => scope.includes(id)
        const word = pick(WORDS)
        for (const query of [
          '',
          '?status=active',
          `?search=${word}`,
          '?tag=blue',
          '?effectiveStatus=suspended',
          '?used=never',
          '?idleDays=1',
          '?suspendedDays=1',
          '?sort=name',
          '?sort=-lastUsedAt',
          '?sort=expiresAt&status=active',
        ]) {
          const all = await askAll(`/token${query}`, estate.mine.key)
          const mine = all.filter(({ subAccount }) => isSeen((subAccount as { _id: string })._id))
          const seen = await askAll(`/token${query}`, key)
          assert.deepEqual(
            seen.map(({ _id }) => _id),
            mine.map(({ _id }) => _id),
            `${query} ${scope}`,
          )
          if (permissions.reveal) assert.deepEqual(seen, mine)
        }
        const owners = (await askAll('/sub-account', estate.mine.key)).filter(({ _id }) => isSeen(String(_id)))
        assert.deepEqual(await askAll('/sub-account', key), owners)
        const entries = (await askAll('/history', estate.mine.key)) as unknown as readonly Entry[]
        const own = entries.filter(({ subject }) => isSeen(subject) || isSeen(ownerOf.get(subject) ?? ''))
        const shown = (await askAll('/history', key)) as unknown as readonly Entry[]
        assert.deepEqual(shown.map(withoutSeq), own.map(withoutSeq))
        await assertOpaque(shown, key)
        await assertOverview(key, owners)
      }
    })

    /** What is shown of the positions is the same each time, and says nothing about how many there are in between. */
    async function assertOpaque(shown: readonly Entry[], key: string): Promise<void> {
      const positions = shown.map(({ seq }) => seq)
      assert.equal(new Set(positions).size, positions.length)
      for (const position of positions) assert.match(String(position), /^[\w-]{22}$/)
      const again = (await askAll('/history', key)) as unknown as readonly Entry[]
      assert.deepEqual(
        again.map(({ seq }) => seq),
        positions,
      )
      const ask = async (query: string) =>
        estate.ask({ path: `${API}/history?limit=100&${query}`, headers: [bearer(key)] })
      for (const [n, position] of [...positions.entries()].slice(0, 3)) {
        const seqs = async (name: string) =>
          (await ask(`${name}=${position}`)).json.data.items.map(({ seq }: Entry) => seq)
        assert.deepEqual(await seqs('after'), positions.slice(0, n).toReversed().slice(0, 100))
        assert.deepEqual(await seqs('beforePosition'), positions.slice(n + 1, n + 101))
      }
      // The numbers of callers who see the whole account, and positions of other accounts, are none here.
      const foreign = Buffer.alloc(16, 1).toString('base64url')
      for (const none of ['1', foreign]) assert.equal((await ask(`after=${none}`)).status, 400)
    }

    async function assertOverview(key: string, owners: readonly Record<string, unknown>[]): Promise<void> {
      const { json } = await estate.ask({ path: `${API}/overview`, headers: [bearer(key)] })
      const { tokens, subAccounts: counted, createdByWeek } = json.data
      const count = async (query: string) => (await askAll(`/token?${query}`, key)).length
      assert.equal(tokens.active, await count('status=active'))
      assert.equal(tokens.inactive, await count('status=inactive'))
      assert.equal(tokens.neverUsed, await count('used=never'))
      assert.equal(tokens.suspended, await count('effectiveStatus=suspended'))
      assert.equal(counted.total, owners.length)
      assert.equal(counted.suspended, owners.filter(({ status }) => status === 'suspended').length)
      const ids = counted.largest.map(({ _id }: { _id: string }) => _id)
      assert.deepEqual(new Set(ids), new Set(owners.map(({ _id }) => _id)))
      const made = createdByWeek.reduce((sum: number, week: { count: number }) => sum + week.count, 0)
      assert.equal(made, tokens.active + tokens.inactive)
    }

    test('a token of another sub-account can be neither read, changed, rotated, revealed, explained nor deleted', async () => {
      const [own, other] = subAccounts as [string, string]
      const permissions = { role: 'owner', reveal: true, subAccounts: [own] } as const
      const { key } = await estate.running.operator.createKey(estate.mine.accountId, 'scoped', null, permissions)
      const { id } = await estate.token({ subAccountId: other })
      const before = await estate.mineAsks({ path: `${API}/token/${id}?include=details` })
      for (const [method, suffix, body] of [
        ['GET', '', undefined],
        ['PUT', '', { status: 'inactive' }],
        ['PATCH', '', { tags: ['mine'] }],
        ['DELETE', '', undefined],
        ['POST', '/rotate', {}],
        ['POST', '/reveal', undefined],
        ['GET', '/explain', undefined],
        ['GET', '/history', undefined],
        ['GET', '/usage', undefined],
      ] as const) {
        const headers = [bearer(key)]
        const [foreign, nothing] = await Promise.all([
          estate.ask({ method, path: `${API}/token/${id}${suffix}`, headers, body }),
          estate.ask({ method, path: `${API}/token/tok_019b2f0c5a3c8e1d2c3b4a5f6e7d${suffix}`, headers, body }),
        ])
        assert.equal(foreign.status, 404, `${method} ${suffix}`)
        assert.equal(foreign.text, nothing.text)
      }
      const after = await estate.mineAsks({ path: `${API}/token/${id}?include=details` })
      assert.deepEqual(after.json.data, before.json.data)
    })
  })
}
