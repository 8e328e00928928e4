// Any sequence of changes: lists, totals and searches stay those worked out by hand.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Account, Status, SubAccount } from '../../../src/tokens/model/token.ts'
import { listByHand, names, type OracleToken } from '../../support/oracle.ts'
import { fc } from '../../support/properties.ts'
import { runs } from '../../support/runs.ts'
import type { Estate } from '../../support/store.ts'
import { deleteToken, rotateToken, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

const NAMES = ['deploy', 'Deploy', 'read', 'Σίσυφος', 'a_b', 'x0000e9']
const name = fc.oneof(fc.constantFrom(...NAMES), names)
const status = fc.constantFrom<Status>('active', 'inactive')
const which = fc.nat(9)
const TAGS = ['red', 'blue', 'ü']
const tags = fc.option(fc.subarray(TAGS, { minLength: 1 }))

const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('create' as const), which, name, status }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('rename' as const), which, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('switch' as const), which, status }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('both' as const), which, name, status }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('tag' as const), which, tags }) },
  fc.record({ kind: fc.constant('rotate' as const), which }),
  fc.record({ kind: fc.constant('delete' as const), which }),
)
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never

/** The estate as it should be, changed beside the store. */
class Model {
  readonly estate: Estate
  readonly account: Account
  readonly subAccounts: readonly SubAccount[]
  tokens: readonly OracleToken[] = []

  constructor(estate: Estate, account: Account, subAccounts: readonly SubAccount[]) {
    this.estate = estate
    this.account = account
    this.subAccounts = subAccounts
  }

  async apply(step: Change): Promise<void> {
    if (step.kind === 'create') return this.#create(step)
    const token = this.tokens[step.which % Math.max(this.tokens.length, 1)]
    if (token === undefined) return
    const { store } = this.estate
    if (step.kind === 'delete') {
      await deleteToken(store, this.account.id, token.id, this.estate.origin())
      this.tokens = this.tokens.filter(({ id }) => id !== token.id)
    } else if (step.kind === 'rotate') {
      const rotation = { sealed: this.estate.sealed(), digest: this.estate.digest(), formerUntil: 0 }
      await rotateToken(store, this.account.id, token.id, rotation, this.estate.origin())
    } else {
      const { kind: _, which: __, ...fields } = step
      const after =
        'tags' in fields ? { ...token, tags: fields.tags && JSON.stringify(fields.tags) } : { ...token, ...fields }
      await this.#expect(
        updateToken(store, this.account.id, token.id, fields, this.estate.origin()),
        this.#taken(after) ? 'duplicate-name' : undefined,
        () => {
          this.tokens = this.tokens.map((each) => (each.id === token.id ? after : each))
        },
      )
    }
  }

  async #create(step: Change & { kind: 'create' }): Promise<void> {
    const subAccount = this.subAccounts[step.which % this.subAccounts.length]
    assert.ok(subAccount)
    const record = this.estate.tokenRecord(subAccount, step.name, { status: step.status })
    const { store } = this.estate
    await this.#expect(
      store.insertTokens([record], this.estate.origin()),
      this.#taken(record) ? 'duplicate-name' : undefined,
      () => {
        this.tokens = [...this.tokens, record]
      },
    )
  }

  #taken(wanted: OracleToken): boolean {
    const { id, subAccountId } = wanted
    return this.tokens.some(
      (token) => token.id !== id && token.subAccountId === subAccountId && token.name === wanted.name,
    )
  }

  async #expect(done: Promise<unknown>, refusedAs: string | undefined, keep: () => void): Promise<void> {
    if (refusedAs !== undefined) return assert.rejects(done, { code: refusedAs })
    await done
    keep()
  }

  async compare(): Promise<void> {
    const owners = [undefined, ...this.subAccounts.map(({ id }) => id)]
    const searched = [undefined, 'd', 'de', 'DEPLOY', 'σ', '_', ...this.tokens.map((token) => token.name.slice(0, 2))]
    const byTags = TAGS.map((tag) => ({ page: 1, limit: 100, narrowing: { tags: [tag, TAGS[0] ?? tag] } }))
    const filtered = owners.flatMap((subAccountId) =>
      [undefined, 'active' as const, 'inactive' as const].flatMap((wanted) =>
        searched
          .filter((search) => search === undefined || (search.isWellFormed() && search.trim() === search))
          .map((search) => ({ subAccountId, status: wanted, search, page: 1, limit: 100 })),
      ),
    )
    await Promise.all(
      [...filtered, ...byTags].map(async (query) => {
        const slice = await this.estate.store.listTokens(this.account.id, query)
        const answer = { ids: slice?.items.map(({ token }) => token.id), total: slice?.total }
        assert.deepEqual(answer, listByHand(this.tokens, query), JSON.stringify(query))
      }),
    )
    for (const { id } of this.subAccounts) {
      const own = this.tokens.filter(({ subAccountId }) => subAccountId === id)
      const active = own.filter((token) => token.status === 'active').length
      const row = await this.estate.store.findSubAccount(this.account.id, id)
      assert.deepEqual(row?.tokens, { active, inactive: own.length - active })
    }
  }
}

export const describeUpdateProperties: Part = (estate) => {
  test('after any sequence of changes lists, totals, searches and counts are those worked out by hand', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 30 }), async (steps) => {
        const account = await estate().account()
        const subAccounts = [await estate().subAccount(account), await estate().subAccount(account)]
        const model = new Model(estate(), account, subAccounts)
        for (const [index, step] of steps.entries()) {
          await model.apply(step)
          if (index % 10 === 9) await model.compare()
        }
        await model.compare()
      }),
      { numRuns: runs(10, 60) },
    )
  })
}
