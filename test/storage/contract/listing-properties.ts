// Any estate, any query: the store's answer is the one worked out by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Narrowing } from '../../../src/tokens/model/page.ts'
import type { Status } from '../../../src/tokens/model/token.ts'
import { listByHand, names, type OracleQuery, searches, sorts } from '../../support/oracle.ts'
import { fc } from '../../support/properties.ts'
import { runs } from '../../support/runs.ts'
import type { Estate } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const ESTATES = runs(8, 80)
const QUERIES_PER_ESTATE = 100

interface Sketch {
  readonly name: string
  readonly owner: number
  readonly status: Status
  /** Milliseconds between the one before and this one. */
  readonly after: number
  readonly expiresAt: number | null
  /** Milliseconds since the estate's first moment. */
  readonly usedAfter: number | null
  readonly tags: string | null
}

const TAGS = ['red', 'Red', 'ü', '"quoted"', '🗝']

const status = fc.constantFrom<Status>('active', 'inactive')
const time = fc.option(fc.integer({ min: 1, max: 9 }))
const tags = fc.option(fc.subarray(TAGS, { minLength: 1 }).map((some) => JSON.stringify(some)))
const tokens: fc.Arbitrary<Sketch[]> = fc.uniqueArray(
  fc.record({
    name: names,
    owner: fc.nat(2),
    status,
    after: fc.nat(1),
    expiresAt: time,
    usedAfter: fc.option(fc.nat(30)),
    tags,
  }),
  { minLength: 1, maxLength: 50, selector: ({ name, owner }) => `${owner} ${name}` },
)

/** Times of creation are told from the estate's first moment. */
const narrowing = fc.record(
  {
    neverUsed: fc.constant(true as const),
    /** Their places in the estate. */
    ids: fc.array(fc.nat(49).map(String)),
    idleSince: fc.nat(30),
    suspendedBefore: fc.integer({ min: 1, max: 8 }),
    createdFrom: fc.nat(30),
    createdBefore: fc.nat(30),
    expiresFrom: fc.integer({ min: -1, max: 10 }),
    expiresBefore: fc.integer({ min: -1, max: 10 }),
    unexpiredAt: fc.integer({ min: -1, max: 10 }),
    suspended: fc.boolean(),
    tags: fc.subarray([...TAGS, 'nobody has it'], { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
)

const cases = tokens.chain((list) =>
  fc.record({
    list: fc.constant(list),
    queries: fc.array(
      fc.record({
        owner: fc.option(fc.nat(2), { nil: undefined }),
        status: fc.option(status, { nil: undefined }),
        search: fc.option(searches(list.map(({ name }) => name)), { nil: undefined, freq: 8 }),
        narrowing: fc.option(narrowing, { nil: undefined, freq: 1 }),
        sort: fc.option(sorts, { nil: undefined, freq: 2 }),
        page: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.integer({ min: 1, max: 8 })),
        limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.constant(100)),
      }),
      { minLength: QUERIES_PER_ESTATE, maxLength: QUERIES_PER_ESTATE },
    ),
  }),
)

async function build(estate: Estate, list: readonly Sketch[]) {
  const account = await estate.account()
  const subAccounts = [null, 3, 5].map((suspendedAt) => estate.subAccountRecord(account, { suspendedAt }))
  await estate.store.insertSubAccounts(subAccounts, estate.origin())
  const start = estate.tick()
  let createdAt = start
  const made = list.map(({ name, owner, after, usedAfter, ...fields }) => {
    createdAt += after
    const lastUsedAt = usedAfter === null ? null : start + usedAfter
    const subAccount = subAccounts[owner]
    assert.ok(subAccount)
    const record = estate.tokenRecord(subAccount, name, { ...fields, createdAt })
    return { record, lastUsedAt, isSuspended: subAccount.suspendedAt !== null, suspendedAt: subAccount.suspendedAt }
  })
  await estate.tokens(made.map(({ record }) => record))
  await estate.store.saveUses(
    new Map(made.flatMap(({ record, lastUsedAt }) => (lastUsedAt === null ? [] : [[record.id, lastUsedAt]]))),
  )
  return { account, subAccounts, start, made: made.map(({ record, ...rest }) => ({ ...record, ...rest })) }
}

function inEstate(asked: Narrowing, start: number, all: readonly { readonly id: string }[]): Narrowing {
  const { ids, idleSince, createdFrom, createdBefore, ...rest } = asked
  return {
    ...rest,
    ...(ids === undefined ? {} : { ids: ids.map((place) => all[Number(place)]?.id ?? 'tok_none') }),
    ...(idleSince === undefined ? {} : { idleSince: start + idleSince }),
    ...(createdFrom === undefined ? {} : { createdFrom: start + createdFrom }),
    ...(createdBefore === undefined ? {} : { createdBefore: start + createdBefore }),
  }
}

export const describeListingProperties: Part = (estate) => {
  test(`every answer to ${ESTATES * QUERIES_PER_ESTATE} queries is the one worked out by hand`, async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ list, queries }) => {
        const { account, subAccounts, start, made } = await build(estate(), list)
        await Promise.all(
          queries.map(async ({ owner, narrowing: asked, ...rest }) => {
            const query: OracleQuery = {
              ...rest,
              subAccountId: owner === undefined ? undefined : subAccounts[owner]?.id,
              ...(asked === undefined ? {} : { narrowing: inEstate(asked, start, made) }),
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
          list.map((name) => ({
            name,
            owner: 0,
            status: 'active',
            after: 1,
            expiresAt: null,
            usedAfter: null,
            tags: null,
          })),
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
      { numRuns: runs(5, 40) },
    )
  })
}
