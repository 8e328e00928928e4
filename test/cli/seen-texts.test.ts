// Texts seen before, remembered in few bytes each.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeenTexts } from '../../src/cli/store/seen-texts.ts'

test('every text is new once, and known from then on, however many there are', () => {
  const seen = new SeenTexts()
  const texts = Array.from({ length: 20_000 }, (_, n) => `sub_${n % 7} name ${n}`)
  for (const text of texts) assert.equal(seen.has(text) || !seen.add(text), false)
  for (const text of texts) assert.equal(seen.has(text) && !seen.add(text), true)
  assert.equal(seen.has('another'), false)
})
