// The two engines, side by side: the same estate, the same changes, the same questions, and so the same answers, order
// and totals and refusals included.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TokenQuery } from '../../src/tokens/model/page.ts'
import {
  brokenNameRule,
  normalizeName,
  type Status,
  type SubAccount,
  type TokenRecord,
} from '../../src/tokens/model/token.ts'
import type { TokenRow } from '../../src/tokens/service/ports.ts'
import type { Store } from '../../src/tokens/service/store.ts'
import { names as fewLetters, sorts } from '../support/oracle.ts'
import { openEmptyPostgres, PATIENT } from '../support/postgres.ts'
import { anyCharacter, fc } from '../support/properties.ts'
import { runs } from '../support/runs.ts'
import { openEmptySqlite } from '../support/sqlite.ts'
import { deleteToken, Estate, plain, type TestStore, updateToken } from '../support/store.ts'

const ESTATES = runs(12, 100)
const QUESTIONS = 90
const CHANGES = 10

const anyLetters = fc
  .oneof(fc.string({ unit: anyCharacter, minLength: 1, maxLength: 8 }), fc.string({ unit: 'grapheme', minLength: 1 }))
  .map(normalizeName)
  .filter((name) => name !== '' && brokenNameRule(name) === undefined)
const name = fc.oneof({ weight: 3, arbitrary: fewLetters }, anyLetters)
const status = fc.constantFrom<Status>('active', 'inactive')
const which = fc.nat()

/** Parts of names, in any letter case and with anything beside them, and things that are in no name. */
function searches(of: readonly string[]): fc.Arbitrary<string | undefined> {
  const change = fc.constantFrom(
    (text: string) => text,
    (text: string) => text.toUpperCase(),
    (text: string) => text.toLowerCase(),
  )
  const part = fc
    .tuple(fc.constantFrom(...of), which, fc.integer({ min: 1, max: 9 }), change)
    .map(([from, at, n, to]) => {
      const characters = [...from]
      return to(
        characters
          .slice(at % characters.length)
          .slice(0, n)
          .join(''),
      )
    })
  const wild = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 4 }),
    fc.constantFrom('\0', '\ud800', 'a\0b', '\ufffd', ' '),
  )
  return fc.oneof({ weight: 6, arbitrary: part }, name, wild).map((text) => normalizeName(text) || undefined)
}

const questions = (of: readonly string[]) =>
  fc.array(
    fc.record({
      owner: fc.option(fc.nat(3), { nil: undefined, freq: 2 }),
      status: fc.option(status, { nil: undefined, freq: 2 }),
      search: fc.option(searches(of), { nil: undefined, freq: 3 }),
      page: fc.oneof(
        { weight: 8, arbitrary: fc.constant(1) },
        fc.integer({ min: 1, max: 9 }),
        fc.constant(2_147_483_647),
      ),
      limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(100)),
      sort: fc.option(sorts, { nil: undefined, freq: 2 }),
    }),
    { minLength: QUESTIONS, maxLength: QUESTIONS },
  )

const changes = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        kind: fc.constant('update' as const),
        which,
        change: fc.record({ name, status }, { requiredKeys: [] }),
      }),
    },
    fc.record({ kind: fc.constant('rename to another' as const), which, other: which }),
    fc.record({ kind: fc.constant('expect' as const), which, version: fc.integer({ min: 1, max: 3 }), name }),
    fc.record({ kind: fc.constant('delete' as const), which }),
    fc.record({ kind: fc.constant('create' as const), which, name, status }),
    fc.record({ kind: fc.constant('suspend' as const), which }),
  ),
  { minLength: CHANGES, maxLength: CHANGES },
)
type Change = typeof changes extends fc.Arbitrary<readonly (infer Each)[]> ? Each : never

const cases = fc
  .uniqueArray(fc.record({ name, owner: fc.nat(2), status, after: fc.nat(1) }), {
    minLength: 1,
    maxLength: 40,
    selector: ({ name: text, owner }) => `${owner} ${text}`,
  })
  .chain((list) => fc.record({ list: fc.constant(list), changes, questions: questions(list.map((each) => each.name)) }))

let engines: [TestStore, TestStore]
let made: Estate

/** Both engines' answers, as values that can be compared; a refusal is an answer too. */
async function askBoth(ask: (store: Store) => Promise<unknown>): Promise<unknown> {
  const [embedded, postgres] = await Promise.all(
    engines.map(({ store }) =>
      ask(store).then(comparable, (error: { code?: string; message: string }) => {
        if (error.code === undefined || error.code === 'unavailable') throw error
        return { refused: error.code, message: error.message }
      }),
    ),
  )
  assert.deepEqual(postgres, embedded)
  return embedded
}

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable)
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(plain(value)).map(([field, inner]) => [field, comparable(inner)]))
}

async function build(list: readonly { name: string; owner: number; status: Status; after: number }[]) {
  const origin = made.origin()
  const account = { id: `acc_${origin.at.toString(16)}`, name: 'Acme', createdAt: origin.at, credentials: null }
  await askBoth((store) => store.insertAccount(account, origin))
  const owners = [0, 1, 2].map(() => made.subAccountRecord(account))
  await askBoth((store) => store.insertSubAccounts(owners, origin))
  let createdAt = made.tick()
  const tokens = list.map((each) => {
    createdAt += each.after
    return made.tokenRecord(owners[each.owner] as SubAccount, each.name, { status: each.status, createdAt })
  })
  await askBoth((store) => store.insertTokens(tokens, origin))
  return { account, owners, tokens }
}

async function change(step: Change, accountId: string, owners: readonly SubAccount[], tokens: readonly TokenRecord[]) {
  const origin = made.origin()
  const pick = (n: number) => tokens[n % tokens.length] as TokenRecord
  const owner = owners[step.which % owners.length] as SubAccount
  const { id } = pick(step.which)
  if (step.kind === 'update') return askBoth((store) => updateToken(store, accountId, id, step.change, origin))
  if (step.kind === 'delete') return askBoth((store) => deleteToken(store, accountId, id, origin))
  if (step.kind === 'suspend') {
    return askBoth((store) => store.updateSubAccount(accountId, owner.id, { status: 'suspended' }, origin))
  }
  if (step.kind === 'create') {
    const record = made.tokenRecord(owner, step.name, { status: step.status })
    return askBoth((store) => store.insertTokens([record], origin))
  }
  const expected = step.kind === 'expect' ? { versions: [step.version] } : undefined
  const wanted = step.kind === 'expect' ? step.name : pick(step.other).name
  return askBoth((store) => updateToken(store, accountId, id, { name: wanted }, origin, expected))
}

describe('two engines', () => {
  before(async () => {
    const embedded = await openEmptySqlite()
    // One key for both: what is stored must be sealed with the store's own.
    engines = [embedded, await openEmptyPostgres({ ...PATIENT, keys: embedded.keys })]
    made = new Estate(engines[0])
  })
  after(() => Promise.all(engines.map((engine) => engine.close())))

  test(`both engines give the same answer in ${ESTATES * (QUESTIONS + CHANGES)} cases`, async (t) => {
    const seen = { found: 0, nothing: 0, foreign: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(cases, async ({ list, changes: steps, questions: asked }) => {
        const { account, owners, tokens } = await build(list)
        for (const step of steps) {
          const answer = await change(step, account.id, owners, tokens)
          if ((answer as { refused?: string } | undefined)?.refused !== undefined) seen.refused++
        }
        await Promise.all(
          asked.map(async ({ owner, ...rest }) => {
            const subAccountId = owner === undefined ? undefined : (owners[owner]?.id ?? 'sub_nothing')
            const query: TokenQuery = { ...rest, subAccountId }
            const answer = (await askBoth((store) => store.listTokens(account.id, query))) as { items: TokenRow[] }
            seen[answer === undefined ? 'foreign' : answer.items.length > 0 ? 'found' : 'nothing']++
          }),
        )
        await askBoth((store) => store.listHistory(account.id, { page: 1, limit: 100 }))
        for (const page of [
          { page: 1, limit: 100 },
          { page: 2, limit: 1 },
        ]) {
          await askBoth((store) => store.listSubAccounts(account.id, page))
        }
      }),
      { numRuns: ESTATES },
    )
    t.diagnostic(JSON.stringify(seen))
    for (const count of Object.values(seen)) assert.ok(count > ESTATES, JSON.stringify(seen))
  })
})
