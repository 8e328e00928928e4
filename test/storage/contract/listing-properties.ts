// Any estate, any query: the store's answer is the one worked out by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Status } from '../../../src/tokens/token.ts'
import { listByHand, names, type OracleQuery, searches } from '../../support/oracle.ts'
import type { Estate } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const ESTATES = 80
const QUERIES_PER_ESTATE = 100

const status = fc.constantFrom<Status>('active', 'inactive')
const tokens = fc.uniqueArray(fc.record({ name: names, owner: fc.nat(2), status, after: fc.nat(1) }), {
  minLength: 1,
  maxLength: 50,
  selector: ({ name, owner }) => `${owner} ${name}`,
})

const cases = tokens.chain((list) =>
  fc.record({
    list: fc.constant(list),
    queries: fc.array(
      fc.record({
        owner: fc.option(fc.nat(2), { nil: undefined }),
        status: fc.option(status, { nil: undefined }),
        search: fc.option(searches(list.map(({ name }) => name)), { nil: undefined, freq: 8 }),
        page: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 8 })),
        limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(100)),
      }),
      { minLength: QUERIES_PER_ESTATE, maxLength: QUERIES_PER_ESTATE },
    ),
  }),
)

async function build(estate: Estate, list: readonly { name: string; owner: number; status: Status; after: number }[]) {
  const account = await estate.account()
  const records = [0, 1, 2].map(() => estate.subAccountRecord(account))
  await estate.store.insertSubAccounts(records, estate.origin())
  let createdAt = estate.tick()
  const made = list.map(({ name, owner, status: initial, after }) => {
    createdAt += after
    const subAccount = records[owner]
    assert.ok(subAccount)
    return estate.tokenRecord(subAccount, name, { status: initial, createdAt })
  })
  await estate.tokens(made)
  return { account, subAccounts: records, made }
}

export const describeListingProperties: Part = (estate) => {
  test(`every answer to ${ESTATES * QUERIES_PER_ESTATE} queries is the one worked out by hand`, async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ list, queries }) => {
        const { account, subAccounts, made } = await build(estate(), list)
        await Promise.all(
          queries.map(async ({ owner, ...rest }) => {
            const query: OracleQuery = {
              ...rest,
              subAccountId: owner === undefined ? undefined : subAccounts[owner]?.id,
            }
            const slice = await estate().store.listTokens(account.id, query)
            const answer = { ids: slice?.items.map(({ token }) => token.id), total: slice?.total }
            assert.deepEqual(answer, listByHand(made, query), JSON.stringify(query))
          }),
        )
      }),
      { numRuns: ESTATES },
    )
  })

  test('every part of every name, in any letter case, finds it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(names, { minLength: 1, maxLength: 4 }), async (list) => {
        const { account, made } = await build(
          estate(),
          list.map((name) => ({ name, owner: 0, status: 'active', after: 1 })),
        )
        for (const { id, name } of made) {
          const characters = [...name]
          const parts = characters.flatMap((_, from) =>
            [1, 2, 3, 4, 7].map((n) => characters.slice(from, from + n).join('')),
          )
          await Promise.all(
            [...new Set(parts.flatMap((part) => [part, part.toUpperCase(), part.toLowerCase()]))].map(async (part) => {
              const search = part.trim().normalize('NFC')
              if (search === '' || search !== part) return
              const slice = await estate().store.listTokens(account.id, { page: 1, limit: 100, search })
              assert.ok(
                slice?.items.some(({ token }) => token.id === id),
                `${JSON.stringify(search)} in ${name}`,
              )
            }),
          )
        }
      }),
      { numRuns: 40 },
    )
  })
}
