// Who gets in: every combination of what decides, and every decisive field altered by hand.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ACCOUNT_KEYS, RETIRED_CREDENTIALS, SUB_ACCOUNTS, TOKENS } from '../../src/tokens/model/tables.ts'
import type { RetiredCredential, SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import { isGenuine, type Stamped, stampOf } from '../../src/tokens/trust/stamp.ts'
import { newStoreSecret, Stamps } from '../../src/tokens/trust/vault.ts'
import { type FoundRows, listedState, toCandidate } from '../../src/tokens/trust/verdict.ts'
import { judge, UNKNOWN } from '../../src/tokens/verify/verdict.ts'

const NOW = 1_000
const stamps = new Stamps(newStoreSecret())
const current = stamps.digest('current')
const former = stamps.digest('former')

const aToken = (fields: Partial<TokenRecord> = {}): TokenRecord => ({
  id: 'tok_1',
  accountId: 'acc_1',
  subAccountId: 'sub_1',
  name: 'CI',
  status: 'active',
  createdAt: 1,
  expiresAt: null,
  version: 1,
  digest: current,
  sealed: Buffer.from('s'),
  masked: null,
  metadata: null,
  tags: null,
  policy: null,
  ...fields,
})
const aSubAccount = (fields: Partial<SubAccount> = {}): SubAccount => ({
  id: 'sub_1',
  accountId: 'acc_1',
  name: 'Branch',
  email: 'a@b',
  companyName: 'Ltd',
  createdAt: 1,
  suspendedAt: null,
  policy: null,
  metadata: null,
  ...fields,
})
const stampToken = (row: TokenRecord) => ({ ...row, stamp: stampOf(TOKENS, row, stamps) })
const stampSubAccount = (row: SubAccount) => ({ ...row, stamp: stampOf(SUB_ACCOUNTS, row, stamps) })
const retire = (fields: Partial<RetiredCredential> = {}): Stamped<RetiredCredential> => {
  const row = { digest: former, tokenId: 'tok_1', retiresAt: NOW + 1, ...fields }
  return { ...row, stamp: stampOf(RETIRED_CREDENTIALS, row, stamps) }
}
const candidate = (
  token: Partial<TokenRecord> = {},
  subAccount: Partial<SubAccount> = {},
  retired?: Stamped<RetiredCredential>,
): FoundRows => ({ token: stampToken(aToken(token)), subAccount: stampSubAccount(aSubAccount(subAccount)), retired })

function outcome(found: FoundRows, digest: Uint8Array): string {
  const verdict = judge(toCandidate(found, digest, stamps), NOW)
  return verdict.accepted ? 'accepted' : verdict.reason
}

describe('a verdict', () => {
  for (const status of ['active', 'inactive'] as const) {
    for (const [expiry, expiresAt] of Object.entries({ never: null, later: NOW + 1, now: NOW, before: NOW - 1 })) {
      for (const suspendedAt of [null, 0, 500, NOW + 500]) {
        for (const [credential, retiresAt] of Object.entries({ current: null, retiring: NOW + 1, retired: NOW })) {
          const wanted =
            credential === 'retired'
              ? 'expired'
              : status === 'inactive'
                ? 'inactive'
                : expiry === 'now' || expiry === 'before'
                  ? 'expired'
                  : suspendedAt === null
                    ? 'accepted'
                    : 'suspended'
          test(`on a ${credential} credential, ${status}, expiry ${expiry}, suspended at ${suspendedAt}: ${wanted}`, () => {
            const retired = retiresAt === null ? undefined : retire({ retiresAt })
            const found = candidate({ status, expiresAt }, { suspendedAt }, retired)
            assert.equal(outcome(found, retired === undefined ? current : former), wanted)
          })
        }
      }
    }
  }

  test('on nothing found is unknown', () => {
    assert.equal(judge(undefined, NOW), UNKNOWN)
  })

  test('on a row whose digest is not the one presented is unknown', () => {
    for (const digest of [stamps.digest('other'), new Uint8Array(), current.subarray(1), former]) {
      assert.equal(outcome(candidate(), digest), 'unknown')
    }
    assert.equal(outcome(candidate({}, {}, retire()), current), 'unknown')
  })

  test('on an accepted credential says when it ends: at the first of its expiry, its longest lifetime and its overlap', () => {
    const lifetime = { policy: '{"maxLifetimeSeconds":2}' }
    const id = 'tok_000000000001'
    const endsAt = (found: FoundRows, digest: Uint8Array) => {
      const verdict = judge(toCandidate(found, digest, stamps), NOW)
      return verdict.accepted && verdict.endsAt
    }
    assert.equal(endsAt(candidate(), current), null)
    assert.equal(endsAt(candidate({ expiresAt: 5_000 }), current), 5_000)
    assert.equal(endsAt(candidate({ id, expiresAt: 5_000 }, lifetime), current), 2_001)
    assert.equal(endsAt(candidate({ id, expiresAt: 1_500 }, lifetime), current), 1_500)
    assert.equal(endsAt(candidate({ id }, lifetime, retire({ tokenId: id })), former), NOW + 1)
  })

  test('on an accepted credential names its token', () => {
    const verdict = judge(toCandidate(candidate(), current, stamps), NOW)
    assert.equal(verdict.accepted && verdict.token.id, 'tok_1')
  })
})

describe('a row altered by hand gets nobody in', () => {
  const genuine = { token: aToken({ status: 'inactive', expiresAt: 5 }), subAccount: aSubAccount({ suspendedAt: 5 }) }

  const tokenFields: Partial<TokenRecord>[] = [
    { id: 'tok_2' },
    { accountId: 'acc_2' },
    { subAccountId: 'sub_2' },
    { status: 'active' },
    { expiresAt: null },
    { expiresAt: NOW * 2 },
    { version: 2 },
    { digest: former },
  ]
  for (const altered of tokenFields) {
    test(`a token with another ${Object.keys(altered)}`, () => {
      const token = { ...stampToken(genuine.token), ...altered }
      assert.equal(isGenuine(TOKENS, token, stamps), false)
      const found = { ...candidate(), token }
      assert.equal(outcome(found, token.digest), 'tampered')
    })
  }

  for (const altered of [{ id: 'sub_2' }, { accountId: 'acc_2' }, { suspendedAt: null }, { suspendedAt: 6 }]) {
    test(`a sub-account with another ${Object.keys(altered)}: ${Object.values(altered)}`, () => {
      const subAccount = { ...stampSubAccount(genuine.subAccount), ...altered }
      assert.equal(isGenuine(SUB_ACCOUNTS, subAccount, stamps), false)
      assert.equal(outcome({ ...candidate(), subAccount }, current), 'tampered')
    })
  }

  for (const altered of [{ tokenId: 'tok_2' }, { retiresAt: NOW * 9 }]) {
    test(`a retired credential with another ${Object.keys(altered)}`, () => {
      const retired = { ...retire({ retiresAt: NOW - 1 }), ...altered }
      assert.equal(outcome(candidate({}, {}, retired), former), 'tampered')
    })
  }

  test('a retired credential with another digest', () => {
    const retired = { ...retire(), digest: stamps.digest('mine') }
    assert.equal(outcome(candidate({}, {}, retired), stamps.digest('mine')), 'tampered')
  })

  test('genuine rows put together that do not belong together', () => {
    const strange = [
      candidate({ subAccountId: 'sub_2' }),
      candidate({ accountId: 'acc_2' }),
      candidate({}, { id: 'sub_2' }),
      candidate({}, { accountId: 'acc_2' }),
    ]
    for (const found of strange) assert.equal(outcome(found, current), 'tampered')
    assert.equal(outcome(candidate({ id: 'tok_2' }, {}, retire()), former), 'tampered')
  })

  test('a stamp of another kind of row, of another store, or none', () => {
    const token = aToken()
    const others = [
      new Uint8Array(),
      new Uint8Array(32),
      stampOf(RETIRED_CREDENTIALS, { digest: current, tokenId: 'tok_1', retiresAt: 1 }, stamps),
      stampOf(TOKENS, token, new Stamps(newStoreSecret())),
    ]
    for (const stamp of others)
      assert.equal(outcome({ ...candidate(), token: { ...token, stamp } }, current), 'tampered')
  })

  test('while what decides nothing may differ: when it was made', () => {
    const found = candidate()
    assert.equal(outcome({ ...found, token: { ...found.token, createdAt: 9 } }, current), 'accepted')
  })

  test('an account key with another owner, expiry, revocation, id or digest', () => {
    const key = {
      id: 'key_1',
      accountId: 'acc_1',
      name: 'n',
      createdAt: 1,
      expiresAt: 5,
      revokedAt: 6,
      permissions: null,
      digest: current,
    }
    const stamped = { ...key, stamp: stampOf(ACCOUNT_KEYS, key, stamps) }
    assert.equal(isGenuine(ACCOUNT_KEYS, stamped, stamps), true)
    for (const altered of [
      { id: 'key_2' },
      { accountId: 'acc_2' },
      { expiresAt: null },
      { revokedAt: null },
      { digest: former },
    ]) {
      assert.equal(isGenuine(ACCOUNT_KEYS, { ...stamped, ...altered }, stamps), false)
    }
  })
})

test('the effective state names what blocks, the nearest to the token first', () => {
  const state = (status: 'active' | 'inactive', expiresAt: number | null, suspendedAt: number | null) =>
    listedState(aToken({ status, expiresAt }), aSubAccount({ suspendedAt }), NOW)
  assert.deepEqual(state('active', null, null), { effectiveStatus: 'active', blockedBy: null })
  assert.deepEqual(state('active', NOW + 1, null), { effectiveStatus: 'active', blockedBy: null })
  assert.deepEqual(state('inactive', NOW, 1), { effectiveStatus: 'inactive', blockedBy: 'token' })
  assert.deepEqual(state('active', NOW, 1), { effectiveStatus: 'expired', blockedBy: 'expiry' })
  assert.deepEqual(state('active', null, 1), { effectiveStatus: 'suspended', blockedBy: 'sub-account' })
})
