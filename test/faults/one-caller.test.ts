// The short form of one hostile caller: whether others are answered, and the memory. Times are for the long form.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqliteEngine } from '../support/estate.ts'
import { GROWN_MB, Stage } from './beside-hostile.ts'

test('60 connections that send 280 requests ahead and read nothing harm nobody', async () => {
  const stage = await Stage.prepare({ engine: sqliteEngine, kind: 'reads nothing', count: 60, tokens: 200, seconds: 1 })
  const noticed = await stage.observe()
  await stage.dispose()
  assert.ok(noticed.asked > 0)
  assert.equal(noticed.wrong, 0)
  assert.ok(noticed.grownMb < GROWN_MB, `${noticed.grownMb} MB`)
})
