import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics } from '../../src/http/metrics.ts'
import { Failure } from '../../src/tokens/errors.ts'

test('while the store cannot be reached, a scrape lacks the number of tokens and nothing else', async () => {
  const metrics = new Metrics()
  let reached = true
  metrics.countTokens({
    countTokens: async () => {
      if (!reached) throw new Failure('unavailable')
      return { active: 3, inactive: 0 }
    },
  })
  metrics.judged('accepted')
  const tokens = /^latchkey_tokens\{status="active"\} 3$/m
  assert.match(await metrics.text(), tokens)
  reached = false
  for (const text of [await metrics.text(), await Metrics.sum([await metrics.snapshot()])]) {
    assert.doesNotMatch(text, tokens)
    assert.match(text, /^latchkey_verifications_total\{verdict="accepted"\} 1$/m)
  }
  reached = true
  assert.match(await metrics.text(), tokens)
})
