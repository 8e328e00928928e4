// Whether the time of a refusal tells how much of a secret was right: a Welch t-test over two kinds of guesses, in the
// manner of dudect. Beyond ±4.5 a difference is there; the control shows that this test would see one.
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { findByDigest } from '../../src/storage/sqlite/sql/lookups.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { type FoundRows, toCandidate } from '../../src/tokens/trust/verdict.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'

const SAMPLES = 200_000
/** Calls a sample: one alone is shorter than the clock's own jitter. */
const CALLS = 16
const DETECTED = 4.5
/** The slowest tenth of all is the machine's doing, not the code's. */
const KEPT = 0.9

/** Those in the first half are right up to the last byte, those in the second wrong from the first one on. */
type Guesses = readonly Uint8Array[]
const OF_EACH = 1_024

function measure(guesses: Guesses, compare: (guess: Uint8Array) => unknown): number {
  // Both kinds are fetched in the same way: what a guess is must be all the difference there is.
  const picks = Uint16Array.from({ length: 2 * SAMPLES }, () => randomInt(guesses.length))
  const times = new Float64Array(2 * SAMPLES)
  // One buffer for both: where it lies must not be what is measured.
  const guess = Buffer.alloc(32)
  for (let n = 0; n < times.length; n++) {
    guess.set(guesses[picks[n] ?? 0] ?? [])
    const start = process.hrtime.bigint()
    for (let call = 0; call < CALLS; call++) compare(guess)
    times[n] = Number(process.hrtime.bigint() - start)
  }
  const limit = times.toSorted()[Math.floor(times.length * KEPT)] ?? 0
  const [right, wrong] = [0, 1].map((kind) =>
    times.filter((time, n) => time < limit && Math.floor((picks[n] ?? 0) / OF_EACH) === kind),
  )
  return welch(right ?? new Float64Array(), wrong ?? new Float64Array())
}

function welch(left: Float64Array, right: Float64Array): number {
  const [a, b] = [left, right].map((times) => {
    const mean = times.reduce((sum, time) => sum + time, 0) / times.length
    const variance = times.reduce((sum, time) => sum + (time - mean) ** 2, 0) / (times.length - 1)
    return { mean, error: variance / times.length }
  })
  return ((a?.mean ?? 0) - (b?.mean ?? 0)) / Math.sqrt((a?.error ?? 0) + (b?.error ?? 0))
}

describe('the time of a refusal', () => {
  let service: TestService
  let found: FoundRows
  let guesses: Guesses
  before(async () => {
    service = await openService()
    const { caller, subAccount } = await anAccount(service)
    const fields = { subAccountId: subAccount.id, name: 'Real' }
    const { credential } = await service.registry.createToken(caller, fields, service.operator.origin())
    const digest = service.opened.stamps.digest(credential)
    const db = new Connection(service.opened.path, 'read')
    found = findByDigest(db, digest) as FoundRows
    db.close()
    const many = (make: (digest: Uint8Array) => Uint8Array) => Array.from({ length: OF_EACH }, () => make(digest))
    guesses = [...many(wrongAtTheLast), ...many(wrongFromTheFirst)]
  })
  after(() => service.opened.close())

  test(`of ${2 * SAMPLES} samples does not tell how much of a digest was right`, (t) => {
    const { stamps } = service.opened
    // Once to warm up.
    measure(guesses, (guess) => toCandidate(found, guess, stamps))
    const value = measure(guesses, (guess) => toCandidate(found, guess, stamps))
    t.diagnostic(`t = ${value.toFixed(2)}`)
    assert.ok(Math.abs(value) < DETECTED, `t = ${value}`)
  })

  test('the same test tells a comparison that stops at the first difference', (t) => {
    const expected = found.token.digest
    const stopping = (guess: Uint8Array) => {
      for (let index = 0; index < 32; index++) if (expected[index] !== guess[index]) return false
      return true
    }
    const value = measure(guesses, stopping)
    t.diagnostic(`t = ${value.toFixed(2)}`)
    assert.ok(Math.abs(value) > 10)
  })
})

function wrongAtTheLast(digest: Uint8Array): Uint8Array {
  const guess = Buffer.from(digest)
  guess[31] = (guess[31] ?? 0) ^ 1
  return guess
}

/** Made as the others are: bytes of their own memory each would take longer to fetch, and what is timed after that too. */
function wrongFromTheFirst(digest: Uint8Array): Uint8Array {
  const guess = Buffer.from(randomBytes(32))
  if (guess[0] === digest[0]) guess[0] = (guess[0] ?? 0) ^ 1
  return guess
}
