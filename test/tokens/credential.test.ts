// The shape of credentials and account keys (decisions, part 2).
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brokenCredentialRule } from '../../src/tokens/service/operator.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { kindOfCredential } from '../../src/tokens/verify/credential-format.ts'
import { anyCharacter, fc } from '../support/properties.ts'

const ALPHABET = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const kind = fc.constantFrom<'tok' | 'key'>('tok', 'key')
const credential = kind.map((each) => newCredential(each))

describe('a new credential', () => {
  test('begins with its kind and is one word of letters and digits', () => {
    for (const each of ['tok', 'key'] as const) {
      for (let i = 0; i < 200; i++) assert.match(newCredential(each), new RegExp(`^lk_${each}_[0-9A-Za-z]{49}$`))
    }
  })

  test('is known by its kind', () => {
    for (const each of ['tok', 'key'] as const) assert.equal(kindOfCredential(newCredential(each)), each)
  })

  test('carries at least 190 random bits, with every character as likely as the next', () => {
    assert.ok(43 * Math.log2(62) >= 190)
    const counts = new Map(ALPHABET.map((character) => [character, 0]))
    const made = Array.from({ length: 4_000 }, () => newCredential('tok').slice(7, 50))
    for (const character of made.join('')) counts.set(character, (counts.get(character) ?? 0) + 1)
    const expected = (4_000 * 43) / 62
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
    // 61 degrees of freedom: more than 140 comes up by chance once in some ten million runs.
    assert.ok(chiSquared < 140, `chi squared is ${chiSquared}`)
    assert.equal(new Set(made).size, made.length)
  })
})

describe('a presented string', () => {
  test('with any one character changed is refused', () => {
    fc.assert(
      fc.property(credential, fc.nat(48), fc.constantFrom(...ALPHABET), (whole, at, character) => {
        const changed = whole.slice(0, 7 + at) + character + whole.slice(8 + at)
        fc.pre(changed !== whole)
        assert.equal(kindOfCredential(changed), undefined)
      }),
      { numRuns: 5_000 },
    )
  })

  test('with one character missing, added or swapped with the next is refused', () => {
    fc.assert(
      fc.property(credential, fc.nat(48), fc.constantFrom(...ALPHABET), (whole, at, character) => {
        const i = 7 + at
        assert.equal(kindOfCredential(whole.slice(0, i) + whole.slice(i + 1)), undefined)
        assert.equal(kindOfCredential(whole.slice(0, i) + character + whole.slice(i)), undefined)
        const swapped = whole.slice(0, i) + whole.charAt(i + 1) + whole.charAt(i) + whole.slice(i + 2)
        if (swapped !== whole) assert.equal(kindOfCredential(swapped), undefined)
      }),
      { numRuns: 2_000 },
    )
  })

  test('cut off anywhere after its prefix is refused', () => {
    const whole = newCredential('tok')
    for (let length = 7; length < whole.length; length++)
      assert.equal(kindOfCredential(whole.slice(0, length)), undefined)
  })

  test('of one kind does not pass for the other', () => {
    const token = newCredential('tok')
    assert.equal(kindOfCredential(token.replace('lk_tok_', 'lk_key_')), undefined)
  })

  test('with white space or a line around it is refused', () => {
    for (const [before, after] of [
      [' ', ''],
      ['', ' '],
      ['', '\n'],
      ['\t', ''],
      ['', '\u0000'],
    ]) {
      assert.equal(kindOfCredential(`${before}${newCredential('tok')}${after}`), undefined)
    }
  })

  test('of another make may be an imported credential', () => {
    for (const text of ['x', 'sk_live_abc', '!~', 'a'.repeat(1024), 'LK_TOK_x', 'eyJh.bGci.OiJ9', 'xlk_tok_']) {
      assert.equal(kindOfCredential(text), 'tok')
      assert.equal(brokenCredentialRule(text), undefined)
    }
  })

  test('that no header can carry is nothing', () => {
    for (const text of ['', ' ', 'a b', 'a\nb', 'é', '🗝', 'a'.repeat(1025), '\u007f', '\u0000']) {
      assert.equal(kindOfCredential(text), undefined)
      assert.ok(brokenCredentialRule(text))
    }
  })

  test('that looks like ours but is not whole, or is an account key, cannot be imported', () => {
    for (const text of ['lk_tok_', 'lk_tok_short', newCredential('key'), newCredential('tok').slice(0, -1)]) {
      assert.match(brokenCredentialRule(text) ?? '', /Latchkey credential/)
    }
    assert.equal(brokenCredentialRule(newCredential('tok')), undefined)
  })

  test('of any content is answered without a throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        assert.ok([undefined, 'tok'].includes(kindOfCredential(text)))
      }),
    )
  })
})
