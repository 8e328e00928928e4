// Sealing, digests and stamps.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { KeyRing } from '../../src/tokens/trust/key-ring.ts'
import { credentialContext, MasterKey, newStoreSecret, type StampField, Stamps } from '../../src/tokens/trust/vault.ts'
import { anyCharacter, fc } from '../support/properties.ts'

const key = new MasterKey(randomBytes(32))

describe('a master key', () => {
  test('opens what it sealed, for the same context', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), fc.string(), (text, context) => {
        assert.equal(key.open(key.seal(text, context), context).toString(), Buffer.from(text).toString())
      }),
    )
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        assert.deepEqual(Uint8Array.from(key.open(key.seal(bytes, 'p'), 'p')), bytes)
      }),
    )
  })

  test('opens a sealed value that lies within a larger buffer', () => {
    const sealed = key.seal('secret', 'p')
    const larger = new Uint8Array(sealed.length + 20)
    larger.set(sealed, 10)
    assert.equal(key.open(larger.subarray(10, 10 + sealed.length), 'p').toString(), 'secret')
  })

  test('does not open a value in which any one bit was flipped', () => {
    const sealed = key.seal('lk_tok_secret', 'p')
    for (let bit = 0; bit < sealed.length * 8; bit++) {
      const flipped = Uint8Array.from(sealed)
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.throws(() => key.open(flipped, 'p'), `bit ${bit}`)
    }
  })

  test('does not open a value cut off or drawn out at either end', () => {
    const sealed = key.seal('lk_tok_secret', 'p')
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => key.open(sealed.subarray(0, length), 'p'))
      assert.throws(() => key.open(sealed.subarray(sealed.length - length), 'p'))
    }
    assert.throws(() => key.open(Buffer.concat([sealed, Buffer.of(0)]), 'p'))
    assert.throws(() => key.open(Buffer.concat([Buffer.of(1), sealed]), 'p'))
  })

  test('does not open a value moved to another token, sub-account or account', () => {
    const ids = { id: 'tok_1', subAccountId: 'sub_1', accountId: 'acc_1' }
    const sealed = key.seal('secret', credentialContext(ids))
    assert.throws(() => key.open(sealed, credentialContext({ ...ids, id: 'tok_2' })))
    assert.throws(() => key.open(sealed, credentialContext({ ...ids, subAccountId: 'sub_2' })))
    assert.throws(() => key.open(sealed, credentialContext({ ...ids, accountId: 'acc_2' })))
    assert.throws(() => key.open(sealed, ''))
    assert.equal(key.open(sealed, credentialContext(ids)).toString(), 'secret')
  })

  test('opens what was sealed when the account was not part of the context, and for that token only', () => {
    const keys = new KeyRing([new MasterKey(Buffer.alloc(32, 7))])
    const sealed = Buffer.from('AeINSEqwzp+OsFod9Yg8Bkbtetgtq8p8WfnWLrBeOS8gxjd0UP1DhKp7lKtRLw==', 'base64')
    const token = { id: 'tok_1', subAccountId: 'sub_1', accountId: 'acc_1', sealed }
    assert.equal(keys.openCredential(token), 'lk_tok_former')
    assert.throws(() => keys.openCredential({ ...token, id: 'tok_2' }))
    const current = Buffer.from(sealed)
    current[0] = 2
    assert.throws(() => keys.openCredential({ ...token, sealed: current }))
  })

  test('that is not among those given cannot be chosen to seal, and the one that seals stays', () => {
    const keys = new KeyRing([key])
    assert.throws(() => keys.sealWith('another'), { code: 'unavailable' })
    assert.equal(keys.sealing, key)
  })

  test('does not open what another key sealed', () => {
    const other = new MasterKey(randomBytes(32))
    assert.throws(() => other.open(key.seal('secret', 'p'), 'p'))
    assert.notEqual(other.id, key.id)
  })

  test('seals the same text differently each time, and shows nothing of it', () => {
    const sealed = Array.from({ length: 100 }, () => Buffer.from(key.seal('lk_tok_secret', 'p')))
    assert.equal(new Set(sealed.map((each) => each.toString('hex'))).size, 100)
    for (const each of sealed) assert.equal(each.includes('secret'), false)
  })

  test('is known by an id that depends on it alone', () => {
    const bytes = randomBytes(32)
    assert.equal(new MasterKey(bytes).id, new MasterKey(bytes).id)
    assert.match(new MasterKey(bytes).id, /^[0-9a-f]{8}$/)
    assert.equal(bytes.toString('hex').includes(new MasterKey(bytes).id), false)
  })

  test('is 32 bytes and nothing else', () => {
    for (const length of [0, 16, 31, 33, 64]) assert.throws(() => new MasterKey(randomBytes(length)))
  })

  test('does not show itself when printed', () => {
    const bytes = randomBytes(32)
    const printed = JSON.stringify(new MasterKey(bytes))
    assert.equal(printed.includes(bytes.toString('hex')) || printed.includes(bytes.toString('base64')), false)
  })
})

describe('stamps', () => {
  const secret = newStoreSecret()
  const stamps = new Stamps(secret)

  test('are the same for the same store, and others for another', () => {
    const [again, other] = [new Stamps(secret), new Stamps(newStoreSecret())]
    assert.deepEqual(again.digest('x'), stamps.digest('x'))
    assert.deepEqual(again.stampRow(['x']), stamps.stampRow(['x']))
    assert.notDeepEqual(other.digest('x'), stamps.digest('x'))
    assert.notDeepEqual(other.stampRow(['x']), stamps.stampRow(['x']))
    assert.notDeepEqual(other.stampHistory(['x']), stamps.stampHistory(['x']))
  })

  test('of rows and of history are never interchangeable', () => {
    assert.notDeepEqual(stamps.stampRow(['x']), stamps.stampHistory(['x']))
  })

  test('tell any two lists of fields apart', () => {
    const lists: StampField[][] = [
      [],
      [''],
      ['', ''],
      [null],
      ['null'],
      [1],
      ['1'],
      ['a', 'b'],
      ['ab'],
      ['a","b'],
      ['a,b'],
    ]
    const seen = new Set(lists.map((list) => stamps.stampRow(list).toString('hex')))
    assert.equal(seen.size, lists.length)
  })

  test('show a position in the history as a text of its own for each row, account and store, in no order', () => {
    const rows = Array.from({ length: 200 }, (_, seq) => seq + 1)
    const of = (from: Stamps, account: string) => rows.map((seq) => from.position(account, seq))
    const positions = of(stamps, 'acc_1')
    assert.deepEqual(of(stamps, 'acc_1'), positions)
    const all = [positions, of(stamps, 'acc_2'), of(new Stamps(newStoreSecret()), 'acc_1')].flat()
    assert.equal(new Set(all).size, 3 * rows.length)
    assert.deepEqual(new Set(all.map((text) => text.length)), new Set([22]))
    assert.notDeepEqual(positions.toSorted(), positions)
  })

  test('read back a position that they have shown for this account, and no other text', () => {
    for (const seq of [0, 1, 255, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      assert.equal(stamps.seqOf('acc_1', stamps.position('acc_1', seq)), seq)
    }
    const [one, other] = [stamps.position('acc_1', 7), stamps.position('acc_2', 7)]
    // The last character has unused bits: another one for the same bytes is no position either.
    const similar = `${one.slice(0, -1)}${one.endsWith('B') ? 'A' : 'B'}`
    for (const text of ['', '7', other, one.slice(1), `${one}A`, ` ${one}`, similar, 'A'.repeat(22), `${one}==`]) {
      assert.equal(stamps.seqOf('acc_1', text), undefined, text)
    }
  })

  test('accept just the stamp that belongs to the fields', () => {
    const fields = ['a', 1, null, Buffer.from('b')]
    const stamp = stamps.stampRow(fields)
    assert.equal(stamps.isRowStamp(stamp, fields), true)
    assert.equal(stamps.isRowStamp(Uint8Array.from(stamp), fields), true)
    for (const wrong of [new Uint8Array(), stamp.subarray(1), Buffer.concat([stamp, stamp]), new Uint8Array(32)]) {
      assert.equal(stamps.isRowStamp(wrong, fields), false)
    }
  })
})
