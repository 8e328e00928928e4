// What a name may be (decisions, part 2), ids that sort by time, and letter case in search.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brokenNameRule, countCharacters, foldCase, newId, normalizeName } from '../../src/tokens/model/token.ts'
import { anyCharacter, fc } from '../support/properties.ts'

const LAST = 0x10ffff
const isSurrogate = (point: number) => point >= 0xd800 && point <= 0xdfff

describe('a name', () => {
  test('is trimmed and composed, and that once and for all', () => {
    assert.equal(normalizeName('\t\u00a0 e\u0301 x\u3000\n'), 'é x')
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const name = normalizeName(text)
        assert.equal(normalizeName(name), name)
      }),
    )
  })

  test('keeps its inner white space and its letter case', () => {
    assert.equal(normalizeName('A  b\u00a0C'), 'A  b\u00a0C')
  })

  test('has 1 to 255 characters, counted as code points', () => {
    for (const character of ['a', 'é', '東', '🗝']) {
      assert.equal(brokenNameRule(character.repeat(255)), undefined)
      assert.equal(brokenNameRule(character.repeat(256)), 'must be 1 to 255 characters')
    }
    assert.equal(countCharacters('🗝a'), 2)
  })

  test('has no control, line or direction character, and may have every other', () => {
    const refused = new Set([
      ...Array.from({ length: 0x20 }, (_, i) => i),
      ...Array.from({ length: 0x21 }, (_, i) => 0x7f + i),
      ...[0x2028, 0x2029, 0x061c, 0x200e, 0x200f],
      ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e],
      ...[0x2066, 0x2067, 0x2068, 0x2069],
    ])
    for (let point = 0; point <= LAST; point++) {
      if (isSurrogate(point)) continue
      const rule = brokenNameRule(`a${String.fromCodePoint(point)}b`)
      assert.equal(rule !== undefined, refused.has(point), `U+${point.toString(16)}`)
    }
  })

  test('has no half of a surrogate pair', () => {
    for (const name of ['\ud800', 'a\udfff', '\udc00\ud800'])
      assert.equal(brokenNameRule(name), 'must be well-formed Unicode')
  })
})

describe('an id', () => {
  test('begins with what it names, and later ones sort later', () => {
    const times = [0, 1, 15, 16, 1_000, 1_700_000_000_000, Date.UTC(2026, 0, 1), Date.UTC(2999, 0, 1)]
    for (const prefix of ['acc', 'sub', 'tok', 'key'] as const) {
      const ids = times.map((at) => newId(prefix, at))
      assert.deepEqual(ids.toSorted(), ids)
      for (const id of ids) assert.match(id, new RegExp(`^${prefix}_[0-9a-f]{28}$`))
    }
  })

  test('never comes twice', () => {
    assert.equal(new Set(Array.from({ length: 10_000 }, () => newId('tok', 1))).size, 10_000)
  })
})

describe('letter case in search', () => {
  test('is folded alike for all that the regular expressions of the language take for equal', () => {
    const folds = new Map<string, string[]>()
    const cased =
      /[\p{Changes_When_Casefolded}\p{Changes_When_Uppercased}\p{Changes_When_Lowercased}\p{Changes_When_Titlecased}]/u
    const letters: string[] = []
    for (let point = 0; point <= LAST; point++) {
      const character = String.fromCodePoint(point)
      if (!isSurrogate(point) && cased.test(character)) letters.push(character)
    }
    const all = letters.join('')
    for (const letter of letters) {
      const equals = [...all.matchAll(new RegExp(RegExp.escape(letter), 'giu'))].map(([match]) => match)
      folds.set(letter, equals)
      for (const equal of equals) assert.equal(foldCase(equal), foldCase(letter), `${letter} and ${equal}`)
    }
    assert.ok(folds.size > 2_500)
    assert.deepEqual(folds.get('σ')?.toSorted(), ['Σ', 'ς', 'σ'])
  })

  test('joins no two characters that differ by more than case', () => {
    // What folds to itself is alike only to others that fold to it.
    const byFold = new Map<string, string[]>()
    for (let point = 0; point <= LAST; point++) {
      const character = String.fromCodePoint(point)
      if (isSurrogate(point)) continue
      const fold = foldCase(character)
      if (fold === character || character.normalize('NFC') !== character) continue
      const alike = byFold.get(fold)
      if (alike !== undefined) alike.push(character)
      else byFold.set(fold, countCharacters(fold) === 1 && foldCase(fold) === fold ? [fold, character] : [character])
    }
    assert.ok(byFold.size > 1_300)
    for (const [fold, [first = '', ...others]] of byFold) {
      const same = others.length === 0 ? undefined : new RegExp(`^${RegExp.escape(first)}$`, 'iu')
      for (const other of others) {
        const sameCapital: boolean = first.toUpperCase() === other.toUpperCase()
        assert.ok(same?.test(other) || sameCapital, `${first} and ${other}, both ${fold}`)
      }
    }
  })

  test('of ASCII is plain lower case', () => {
    const ascii = Array.from({ length: 128 }, (_, i) => String.fromCharCode(i)).join('')
    assert.equal(foldCase(ascii), ascii.toLowerCase())
    // The same characters beside others take the longer way, and must come out the same.
    assert.equal(foldCase(`${ascii}é`), `${ascii.toLowerCase()}é`)
  })

  test('folds a part of a name to a part of the folded name', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (left, right) => {
        assert.equal(foldCase(left + right), foldCase(left) + foldCase(right))
      }),
      { numRuns: 2_000 },
    )
    for (const [left, right] of [
      ['J', '\u030c'],
      ['Σ', 'Σ'],
      ['Ϊ', '\u0301'],
      ['ß', 'ß'],
      ['a', 'É'],
    ] as const) {
      assert.equal(foldCase(left + right), foldCase(left) + foldCase(right))
    }
  })

  test('folded again stays as it is', () => {
    for (let point = 0; point <= LAST; point++) {
      if (isSurrogate(point)) continue
      const fold = foldCase(String.fromCodePoint(point))
      assert.equal(foldCase(fold), fold, `U+${point.toString(16)}`)
    }
  })

  test('knows what every reader of the script knows', () => {
    for (const [one, other] of [
      ['ΟΔΟΣ', 'οδος'],
      ['Straße', 'STRASSE'],
      ['ẞ', 'ß'],
      ['ΐ', 'Ϊ\u0301'],
      ['ǰ', 'J\u030c'],
      ['ﬃ', 'FFI'],
      ['ЁЖ', 'ёж'],
      ['ᎣᎳ', 'ꭳꮃ'],
    ] as const) {
      assert.equal(foldCase(one), foldCase(other), `${one} and ${other}`)
    }
    for (const [one, other] of [
      ['ı', 'i'],
      ['İ', 'i'],
      ['e', 'é'],
      ['ё', 'е'],
      ['が', 'か'],
    ] as const) {
      assert.notEqual(foldCase(one), foldCase(other), `${one} and ${other}`)
    }
  })
})
