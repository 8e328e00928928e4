// What verification reads: the candidate behind a digest, through rotations, and when a token was last used.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judge } from '../../../src/tokens/verify/verdict.ts'
import type { Estate } from '../../support/store.ts'
import { credentialOf, FIRST_PAGE, rotateToken, updateToken } from '../../support/store.ts'
import type { Part } from '../contract.ts'

async function verdict(estate: Estate, digest: Uint8Array, now: number): Promise<string> {
  const found = judge(await estate.store.findCandidate(credentialOf(digest)), now)
  return found.accepted ? 'accepted' : found.reason
}

async function liveToken(estate: Estate) {
  const account = await estate.account()
  const subAccount = await estate.subAccount(account)
  const token = await estate.token(subAccount, 'live')
  const rotate = async (at: number, formerUntil: number) => {
    const digest = estate.digest()
    const rotation = { sealed: estate.sealed(), digest, formerUntil }
    const row = await rotateToken(estate.store, account.id, token.id, rotation, estate.origin(at))
    return { ...rotation, row }
  }
  return { account, subAccount, token, rotate }
}

export const describeVerification: Part = (estate) => {
  test('an unknown digest has no candidate', async () => {
    assert.equal(await estate().store.findCandidate(credentialOf(estate().digest())), undefined)
    assert.equal(await estate().store.findCandidate(credentialOf(new Uint8Array())), undefined)
  })

  test('a new token is accepted, and refused from its expiry on', async () => {
    const { subAccount, token } = await liveToken(estate())
    assert.equal(await verdict(estate(), token.digest, 1), 'accepted')
    const { digest } = await estate().token(subAccount, 'short', { expiresAt: 1_000 })
    assert.equal(await verdict(estate(), digest, 999), 'accepted')
    assert.equal(await verdict(estate(), digest, 1_000), 'expired')
  })

  test('the read after a change of status obeys it, off and on again', async () => {
    const { account, token } = await liveToken(estate())
    for (const [status, expected] of [
      ['inactive', 'inactive'],
      ['active', 'accepted'],
      ['inactive', 'inactive'],
    ] as const) {
      await updateToken(estate().store, account.id, token.id, { status }, estate().origin())
      assert.equal(await verdict(estate(), token.digest, 1), expected)
    }
  })

  test('a rename leaves the credential as it was', async () => {
    const { account, token } = await liveToken(estate())
    await updateToken(estate().store, account.id, token.id, { name: 'renamed' }, estate().origin())
    assert.equal(await verdict(estate(), token.digest, 1), 'accepted')
  })

  test('a suspended sub-account takes its tokens with it, and brings them back', async () => {
    const { account, subAccount, token } = await liveToken(estate())
    const set = (status: 'active' | 'suspended') =>
      estate().store.updateSubAccount(account.id, subAccount.id, { status }, estate().origin())
    await set('suspended')
    assert.equal(await verdict(estate(), token.digest, 1), 'suspended')
    await set('active')
    assert.equal(await verdict(estate(), token.digest, 1), 'accepted')
  })

  test('a rotation keeps the token and counts as one change', async () => {
    const { account, token, rotate } = await liveToken(estate())
    const { row, digest, sealed } = await rotate(100, 0)
    assert.deepEqual([row.token.id, row.token.name, row.token.version], [token.id, token.name, 2])
    const found = await estate().store.findToken(account.id, token.id)
    assert.equal(await verdict(estate(), digest, 1), 'accepted')
    assert.deepEqual(Buffer.from(found?.token.sealed ?? []), sealed)
  })

  test('with an overlap both credentials work until it ends, and then the new one alone', async () => {
    const { token, rotate } = await liveToken(estate())
    const { digest } = await rotate(100, 200)
    assert.deepEqual(
      [await verdict(estate(), token.digest, 199), await verdict(estate(), digest, 199)],
      ['accepted', 'accepted'],
    )
    assert.deepEqual(
      [await verdict(estate(), token.digest, 200), await verdict(estate(), digest, 200)],
      ['expired', 'accepted'],
    )
  })

  test('without an overlap the former credential is unknown at once', async () => {
    for (const formerUntil of [0, 99, 100]) {
      const { token, rotate } = await liveToken(estate())
      const { digest } = await rotate(100, formerUntil)
      assert.equal(await verdict(estate(), token.digest, 100), 'unknown')
      assert.equal(await verdict(estate(), digest, 100), 'accepted')
    }
  })

  test('a second rotation with an overlap lets the first one run its time', async () => {
    const { token, rotate } = await liveToken(estate())
    const second = await rotate(100, 300)
    const third = await rotate(150, 250)
    const at = (now: number) =>
      Promise.all([token.digest, second.digest, third.digest].map((digest) => verdict(estate(), digest, now)))
    assert.deepEqual(await at(249), ['accepted', 'accepted', 'accepted'])
    assert.deepEqual(await at(250), ['accepted', 'expired', 'accepted'])
    assert.deepEqual(await at(300), ['expired', 'expired', 'accepted'])
  })

  test('a rotation without an overlap ends every former credential', async () => {
    const { token, rotate } = await liveToken(estate())
    const second = await rotate(100, 10_000)
    const third = await rotate(150, 150)
    assert.equal(await verdict(estate(), token.digest, 160), 'unknown')
    assert.equal(await verdict(estate(), second.digest, 160), 'unknown')
    assert.equal(await verdict(estate(), third.digest, 160), 'accepted')
  })

  test('a former credential is refused with its token when that is switched off', async () => {
    const { account, token, rotate } = await liveToken(estate())
    await rotate(100, 10_000)
    await updateToken(estate().store, account.id, token.id, { status: 'inactive' }, estate().origin())
    assert.equal(await verdict(estate(), token.digest, 200), 'inactive')
  })

  test('a credential that another token has is refused as a new one, and the old one goes on', async () => {
    const { account, subAccount, token } = await liveToken(estate())
    const { digest } = await estate().token(subAccount, 'other')
    const rotation = { sealed: estate().sealed(), digest, formerUntil: 0 }
    await assert.rejects(rotateToken(estate().store, account.id, token.id, rotation, estate().origin()), {
      code: 'duplicate-credential',
    })
    assert.equal(await verdict(estate(), token.digest, 1), 'accepted')
  })

  test('the later of two uses is kept, in whatever order they are written; one within a minute is not written', async () => {
    const { account, token } = await liveToken(estate())
    const key = await estate().key(account)
    const { store } = estate()
    const lastUses = async () => [
      (await store.findActivity([token.id], 0)).get(token.id)?.lastUsedAt,
      (await store.listKeys(account.id, FIRST_PAGE)).items.find(({ id }) => id === key.id)?.lastUsedAt,
    ]
    for (const [at, expected] of [
      [500, 500],
      [400, 500],
      [500 + 59_999, 500],
      [500 + 60_000, 60_500],
      [600, 60_500],
    ] as const) {
      const uses = new Map([token.id, key.id].map((id) => [id, at]))
      const recent = await store.saveUses(uses)
      assert.deepEqual(await lastUses(), [expected, expected])
      assert.deepEqual([...recent.keys()].toSorted(), at === expected ? [] : [token.id, key.id].toSorted())
      assert.ok([...recent.values()].every((recorded) => recorded === expected))
    }
  })

  test('uses of unknown tokens are passed over, and the others are kept', async () => {
    const { token } = await liveToken(estate())
    await estate().store.saveUses(
      new Map([
        ['tok_nothing', 1],
        [token.id, 2],
        ['', 3],
      ]),
    )
    const unrotated = {
      formerCredentialUntil: null,
      formerCredentialLastUsedAt: null,
      formerCredentialLastUsedFrom: null,
    }
    assert.deepEqual(
      [...(await estate().store.findActivity(['tok_nothing', token.id, ''], 0))],
      [[token.id, { lastUsedAt: 2, ...unrotated }]],
    )
  })

  test('a use changes neither the version nor the history', async () => {
    const { account, token } = await liveToken(estate())
    const { total } = await estate().store.listHistory(account.id, { page: 1, limit: 1 })
    await estate().store.saveUses(new Map([[token.id, 9]]))
    assert.equal((await estate().store.findToken(account.id, token.id))?.token.version, 1)
    assert.equal((await estate().store.listHistory(account.id, { page: 1, limit: 1 })).total, total)
  })

  test('of many digests, those of credentials are known, former ones and those of other accounts too', async () => {
    const { store } = estate()
    const [one, other] = [await liveToken(estate()), await liveToken(estate())]
    const { digest } = await one.rotate(100, Number.MAX_SAFE_INTEGER)
    const hex = (digest: Uint8Array) => Buffer.from(digest).toString('hex')
    const known = [one.token.digest, other.token.digest, digest].map(hex)
    const asked = [hex(estate().digest()), ...known, hex(estate().digest())]
    assert.deepEqual((await store.findKnown(one.account.id, asked)).toSorted(), known.toSorted())
    assert.deepEqual(await store.findKnown('', []), [])
  })
}
