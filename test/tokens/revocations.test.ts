// What a journal of revocations says beside a store, whatever has been done to it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  compareJournal,
  firstLine,
  isFirstLine,
  nextLine,
  type Revocation,
} from '../../src/tokens/trust/revocations.ts'
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
function compare(lines: readonly string[], known: number, fromBackup: boolean, text: string | undefined) {
  const size = lines.slice(0, known).join('').length
  const lastLine = lines[known - 1] ?? ''
  const start = size - lastLine.length
  const seen = text === undefined || text.length < start ? undefined : text.slice(start)
  return compareJournal({ size, lastLine }, fromBackup, seen, stamps)
}

describe('beside the store that it has grown with', () => {
  const lines = journal(5)
  const whole = lines.join('')
  test('it is even with it', () => {
    assert.deepEqual(compare(lines, 6, false, whole), { kind: 'even' })
  })

  test('a line more, or any part of one, was never committed', () => {
    const last = lines[5] ?? ''
    for (let kept = 1; kept <= last.length; kept++) {
      const text = whole.slice(0, whole.length - last.length + kept)
      assert.equal(compare(lines, 5, false, text).kind, 'uncommitted')
    }
  })

  test('an end of the last line that never came to the disk is known to the store', () => {
    const last = lines[5] ?? ''
    for (let missing = 1; missing <= last.length; missing++) {
      const found = compare(lines, 6, false, whole.slice(0, -missing))
      assert.deepEqual(found, { kind: 'behind', missing: last.slice(-missing) })
    }
  })

  test('holes that a loss of power has left in a line that nobody was told of are mended, or cut off with it', () => {
    const last = lines[5] ?? ''
    const before = whole.slice(0, -last.length)
    for (let from = 0; from < last.length; from++) {
      const torn = `${last.slice(0, from)}\0\0\0${last.slice(from + 3)}`.slice(0, last.length)
      assert.deepEqual(compare(lines, 6, false, before + torn), { kind: 'behind', missing: last.slice(from) })
      assert.equal(compare(lines, 5, false, before + torn).kind, 'uncommitted')
      assert.equal(compare(lines, 6, true, before + torn).kind, 'lost')
      assert.equal(compare(lines, 5, true, before + torn).kind, 'lost')
    }
    const older = `${lines.slice(0, 4).join('')}${(lines[4] ?? '').replace('t', '\0')}${last}`
    assert.equal(compare(lines, 4, false, older).kind, 'lost')
  })

  test('cut off further back than that, missing, altered or of another store, it is lost', () => {
    const cut = whole.slice(0, whole.length - (lines[5] ?? '').length - 1)
    assert.equal(compare(lines, 6, false, cut).kind, 'lost')
    assert.equal(compare(lines, 6, false, undefined).kind, 'lost')
    assert.equal(compare(lines, 6, false, whole.replace('tok_5', 'tok_6')).kind, 'lost')
    const foreign = journal(5, others).join('')
    assert.equal(compare(lines, 6, false, foreign).kind, 'lost')
  })
})

describe('beside a store from a backup', () => {
  const lines = journal(6)
  const whole = lines.join('')
  const known = 3
  const idsOf = (found: ReturnType<typeof compareJournal>) =>
    ('lines' in found ? found.lines : 'readable' in found ? found.readable : []).flatMap(({ revocations }) =>
      revocations.map(({ id }) => id),
    )

  test('every line since the backup counts, a single one too', () => {
    const found = compare(lines, known, true, whole)
    assert.equal(found.kind, 'ahead')
    assert.deepEqual(idsOf(found), ['tok_3', 'tok_4', 'tok_5', 'tok_6'])
    assert.equal(compare(lines, 6, true, whole).kind, 'ahead')
    assert.equal(compare(lines, 7, true, whole).kind, 'even')
  })

  test('a store that was set back by hand is known by more than one line', () => {
    assert.equal(compare(lines, known, false, whole).kind, 'ahead')
  })

  test('cut off anywhere but at the end of a line, it is lost, and what can be read of it is kept', () => {
    const ends = new Set(lines.map((_, n) => lines.slice(0, n + 1).join('').length))
    const start = lines.slice(0, known).join('').length
    for (let length = 0; length < whole.length; length++) {
      const found = compare(lines, known, true, whole.slice(0, length))
      const sound = length >= start && ends.has(length)
      assert.equal(found.kind === 'lost', !sound, `at ${length}`)
    }
    assert.deepEqual(idsOf(compare(lines, known, true, whole.slice(0, -1))), ['tok_3', 'tok_4', 'tok_5'])
  })

  test('a byte altered anywhere behind the backup is noticed, and costs three lines at most', () => {
    const start = lines.slice(0, known - 1).join('').length
    for (let at = start; at < whole.length; at++) {
      const altered = Buffer.from(whole, 'latin1')
      altered[at] = (altered[at] ?? 0) ^ 1
      const found = compare(lines, known, true, altered.toString('latin1'))
      assert.equal(found.kind, 'lost', `at ${at}`)
      if (at >= lines.slice(0, known).join('').length) assert.ok(idsOf(found).length >= 1)
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
  assert.ok(isFirstLine(line, stamps))
  assert.ok(!isFirstLine(line, others))
  assert.ok(!isFirstLine(line.slice(0, -1), stamps))
})

test('a revocation takes less than 180 bytes', () => {
  const id = `tok_${'0'.repeat(28)}`
  assert.ok(nextLine('', [{ kind: 'token-off', id, at: 1_790_000_000_000, version: 1_000 }], stamps).length < 180)
})
