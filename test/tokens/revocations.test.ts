// What a journal of revocations and a store say about each other, whatever has been done to either.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareJournal, firstLine, nextLine, type Revocation, readLines } from '../../src/tokens/trust/revocations.ts'
import { Stamps } from '../../src/tokens/trust/vault.ts'

const stamps = new Stamps(Buffer.alloc(32, 1))
const others = new Stamps(Buffer.alloc(32, 2))
const off = (n: number): Revocation => ({ kind: 'token-off', id: `tok_${n}`, at: n, version: n })

/** A first line, and then one line for each commit. */
function journal(commits: number, with_ = stamps): string[] {
  const lines = [firstLine(1, 'chance', with_)]
  for (let n = 1; n <= commits; n++) lines.push(nextLine(lines.at(-1) ?? '', [off(n)], with_))
  return lines
}

/** As seen by a store that knows the first `known` lines. */
function compare(lines: readonly string[], known: number, isOlder: boolean, text: string | undefined, isEnd = true) {
  const size = lines.slice(0, known).join('').length
  const lastLine = lines[known - 1] ?? ''
  const start = size - lastLine.length
  const seen = text === undefined || text.length < start ? undefined : text.slice(start)
  return compareJournal({ size, lastLine, isOlder }, seen, isEnd, stamps)
}

const idsOf = (found: ReturnType<typeof compareJournal>) =>
  found.kind === 'ahead' ? found.revocations.map(({ id }) => id) : []

describe('beside any store', () => {
  const lines = journal(6)
  const whole = lines.join('')
  for (const isOlder of [false, true]) {
    test(`${isOlder ? 'from a backup' : 'that was not restored'}: it is even, or every line that the store lacks counts`, () => {
      assert.deepEqual(compare(lines, 7, isOlder, whole), { kind: 'even' })
      for (let known = 1; known < 7; known++) {
        const found = compare(lines, known, isOlder, whole)
        assert.deepEqual(idsOf(found), ['tok_1', 'tok_2', 'tok_3', 'tok_4', 'tok_5', 'tok_6'].slice(known - 1))
        assert.ok(found.kind === 'ahead' && found.next.size === whole.length && found.next.lastLine === lines[6])
      }
    })

    test(`${isOlder ? 'from a backup' : 'that was not restored'}: a part of it counts as far as its lines go, and not at all without one`, () => {
      const start = lines.slice(0, 3).join('').length
      for (let length = start + 1; length < whole.length; length++) {
        const found = compare(lines, 3, isOlder, whole.slice(0, length), false)
        const complete = whole.slice(start, length).split('\n').length - 1
        assert.deepEqual(found.kind, complete === 0 ? 'lost' : 'ahead')
        assert.deepEqual(idsOf(found), ['tok_3', 'tok_4', 'tok_5', 'tok_6'].slice(0, complete))
      }
    })

    test(`${isOlder ? 'from a backup' : 'that was not restored'}: cut off within a line after whole ones, it is lost`, () => {
      const [last = ''] = lines.slice(-1)
      for (let missing = 1; missing < last.length; missing++) {
        assert.equal(compare(lines, 3, isOlder, whole.slice(0, -missing)).kind, 'lost')
      }
    })
  }
})

describe('beside a store that was not restored', () => {
  const lines = journal(5)
  const whole = lines.join('')
  const last = lines[5] ?? ''
  const before = whole.slice(0, -last.length)
  test('what is missing of the last line is known to the store', () => {
    for (let missing = 1; missing <= last.length; missing++) {
      assert.equal(compare(lines, 6, false, whole.slice(0, -missing)).kind, 'behind')
      assert.equal(compare(lines, 6, true, whole.slice(0, -missing)).kind, 'lost')
    }
  })

  test('a part of one line more is what an earlier version wrote before a commit that never came', () => {
    for (let kept = 1; kept < last.length; kept++) {
      assert.equal(compare(lines, 5, false, before + last.slice(0, kept)).kind, 'torn')
      assert.equal(compare(lines, 5, true, before + last.slice(0, kept)).kind, 'lost')
    }
  })

  test('holes that a loss of power has left in a line without a response are mended, or cut off with it', () => {
    for (let from = 0; from < last.length; from++) {
      const torn = `${last.slice(0, from)}\0\0\0${last.slice(from + 3)}`.slice(0, last.length)
      assert.equal(compare(lines, 6, false, before + torn).kind, 'behind')
      assert.equal(compare(lines, 5, false, before + torn).kind, 'torn')
      assert.equal(compare(lines, 6, true, before + torn).kind, 'lost')
      assert.equal(compare(lines, 5, true, before + torn).kind, 'lost')
    }
    const older = `${lines.slice(0, 4).join('')}${(lines[4] ?? '').replace('t', '\0')}${last}`
    assert.equal(compare(lines, 4, false, older).kind, 'lost')
  })

  test('cut off further back than that, missing, altered or of another store, it is lost', () => {
    assert.equal(compare(lines, 6, false, before.slice(0, -1)).kind, 'lost')
    assert.equal(compare(lines, 6, false, undefined).kind, 'lost')
    assert.equal(compare(lines, 6, false, whole.replace('tok_5', 'tok_6')).kind, 'lost')
    assert.equal(compare(lines, 6, false, journal(5, others).join('')).kind, 'lost')
  })
})

describe('altered after the lines that the store knows', () => {
  const lines = journal(6)
  const whole = lines.join('')
  const known = 3
  const start = lines.slice(0, known).join('').length

  test('in any byte, that is noticed, and costs three lines at most of what can be read', () => {
    for (let at = start; at < whole.length; at++) {
      const altered = Buffer.from(whole, 'latin1')
      altered[at] = (altered[at] ?? 0) ^ 1
      const text = altered.toString('latin1')
      for (const isOlder of [false, true]) assert.equal(compare(lines, known, isOlder, text).kind, 'lost', `at ${at}`)
      const { revocations, isAltered } = readLines(text.slice(start), lines[known - 1] ?? '', stamps)
      assert.ok(isAltered || at === whole.length - 1)
      assert.ok(revocations.length >= 1)
    }
  })

  test('a line taken out, put in twice or moved is noticed', () => {
    const [a = '', b = '', c = '', d = '', e = '', f = '', g = ''] = lines
    for (const order of [
      [a, b, c, e, f, g],
      [a, b, c, d, d, e, f, g],
      [a, b, c, e, d, f, g],
    ]) {
      assert.equal(compare(lines, known, true, order.join('')).kind, 'lost')
    }
  })
})

test('a first line is known by the store that wrote it', () => {
  const [line = ''] = journal(0)
  assert.equal(readLines(line, '', stamps).isAltered, false)
  assert.equal(readLines(line, '', others).isAltered, true)
})

test('a revocation takes less than 180 bytes', () => {
  const id = `tok_${'0'.repeat(28)}`
  assert.ok(nextLine('', [{ kind: 'token-off', id, at: 1_790_000_000_000, version: 1_000 }], stamps).length < 180)
})
