// A bulk operation is over only when no verifier decides by what was before it.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { makeTargets, type Targets } from '../support/targets.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-test-'))
let latchkey: Latchkey
let targets: Targets

before(async () => {
  latchkey = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: folder }))
  targets = await makeTargets(latchkey, 150)
})
after(async () => {
  latchkey.verifiers.release()
  await latchkey.store.close()
  rmSync(folder, { recursive: true, force: true })
})

test('all parts are done while a verifier has confirmed none, and the operation is over when it has confirmed the last', async () => {
  const { registry, operator, store, verifiers, bulkWork } = latchkey
  const caller = operator.actFor(targets.accountId)
  const key = await registry.authenticate(targets.key)
  const { lease } = await verifiers.begin(key, { name: 'slow', leaseSeconds: 60 }, operator.origin())
  const { id, parts } = await registry.bulk.order(caller, { action: 'disable', filter: {} }, operator.origin())
  const failed: unknown[] = []
  const changed = Promise.withResolvers<void>()
  let steps = 0
  const onChanged = () => {
    if (++steps === parts) changed.resolve()
  }
  const work = bulkWork({ onChanged, onFailed: (_, error) => void failed.push(error) })
  await work.begin()
  await changed.promise
  const waiting = await registry.bulk.get(caller, id)
  assert.deepEqual([waiting.status, waiting.position, waiting.done], ['running', 2, 150])
  const { position } = await store.findNews(undefined, ['token.update'], 1)
  await store.renewVerifiers([{ id: lease, accountId: targets.accountId, acked: position, at: operator.origin().at }])
  await work.settled()
  const { status, done } = await registry.bulk.get(caller, id)
  assert.deepEqual([status, done, failed], ['done', 150, []])
  await work.stop()
})
