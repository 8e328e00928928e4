// When a change need not wait for a verifier any longer.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type Change,
  covers,
  MARGIN_MS,
  MOST_NEWS,
  Sightings,
  standingOf,
  toForget,
  type Verifier,
} from '../../src/tokens/verifiers/lease.ts'

const verifier = (fields: Partial<Verifier> = {}): Verifier => ({
  id: 'vfr_1',
  accountId: 'acc_1',
  keyId: 'key_1',
  name: null,
  version: null,
  state: 'held',
  since: 0,
  confirmedAt: 0,
  renewal: 1,
  termMs: 10_000,
  acked: '/5.ab',
  ...fields,
})

describe('a position covers a change', () => {
  const cases: readonly (readonly [position: string, mark: string, covered: boolean])[] = [
    ['/5.AB', '/5', true],
    ['/5.AB', '/4', true],
    ['/5.AB', '/6', false],
    ['/10.AB', '/9', true],
    ['a/100:100:', 'a/99', true],
    ['a/100:100:', 'a/100', false],
    ['a/100:105:101,103', 'a/99', true],
    ['a/100:105:101,103', 'a/101', false],
    ['a/100:105:101,103', 'a/102', true],
    ['a/100:105:101,103', 'a/103', false],
    ['a/100:105:101,103', 'a/104', true],
    ['a/100:105:101,103', 'a/105', false],
    ['a/18446744073709551610:18446744073709551611:', 'a/18446744073709551609', true],
    ['a/100:100:', 'b/1', false],
    ['a/100:100:', '/1', false],
    ['/5.AB', 'a/1', false],
  ]
  for (const [position, mark, covered] of cases) {
    test(`${position} ${covered ? 'has' : 'has not'} seen ${mark}`, () => assert.equal(covers(position, mark), covered))
  }
})

describe('what is to be forgotten', () => {
  const change = (subject: string, action: Change['action'] = 'token.update'): Change => ({
    accountId: 'acc_1',
    seq: 1,
    action,
    subject,
  })

  test('names tokens and sub-accounts, each once', () => {
    const changes = [change('tok_1'), change('sub_1', 'sub-account.update'), change('tok_1', 'token.delete')]
    assert.deepEqual(toForget(changes), [{ tokenId: 'tok_1' }, { subAccountId: 'sub_1' }])
  })

  test('is everything where the changes are not known, or too many', () => {
    assert.equal(toForget(undefined), 'all')
    const many = Array.from({ length: MOST_NEWS + 1 }, (_, n) => change(`tok_${n}`))
    assert.equal(toForget(many), 'all')
    assert.equal(toForget(many.slice(1)).length, MOST_NEWS)
    assert.deepEqual(toForget([]), [])
  })
})

describe('a lease that is not prolonged', () => {
  const END = 10_000 + MARGIN_MS

  test('ends a term and a margin after its renewal was first seen', () => {
    const seen = new Sightings()
    assert.equal(seen.endOf(verifier(), 1_000), 1_000 + END)
    assert.equal(seen.endOf(verifier(), 9_000), 1_000 + END)
    assert.equal(seen.endOf(verifier({ id: 'vfr_2' }), 9_000), 9_000 + END)
  })

  test('ends later for those who look after it was renewed', () => {
    const seen = new Sightings()
    seen.endOf(verifier(), 1_000)
    assert.equal(seen.endOf(verifier({ renewal: 2 }), 2_000), 2_000 + END)
    assert.equal(seen.endOf(verifier({ renewal: 2 }), 3_000), 2_000 + END)
  })

  test('is measured from a new look after the verifier was gone', () => {
    const seen = new Sightings()
    seen.endOf(verifier(), 1_000)
    seen.keepOnly([verifier({ id: 'vfr_2' })])
    assert.equal(seen.endOf(verifier(), 5_000), 5_000 + END)
  })
})

describe('a change', () => {
  test('waits for a verifier that has not confirmed it, until its lease has run out', () => {
    assert.equal(standingOf(verifier(), '/6', 100, 99), 'waits')
    assert.equal(standingOf(verifier(), '/6', 100, 100), 'ran-out')
  })

  test('does not wait for one that has confirmed it, or is no longer there', () => {
    assert.equal(standingOf(verifier(), '/5', 100, 99), 'confirmed')
    assert.equal(standingOf(undefined, '/5', 100, 99), 'ran-out')
  })

  test('waits for an evicted one, which may still remember something', () => {
    assert.equal(standingOf(verifier({ state: 'evicted' }), '/6', 100, 99), 'waits')
  })
})
