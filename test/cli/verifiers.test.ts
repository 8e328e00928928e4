// Verifiers at the command line: keys for all accounts, who holds a lease, and changes that wait for them.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'
import type { Leased } from '../../src/tokens/verifiers/verifiers.ts'
import { Cli } from '../support/cli.ts'
import { opened } from '../support/restored.ts'

const cli = new Cli()
let estate: Awaited<ReturnType<Cli['estate']>>
let running: Awaited<ReturnType<typeof startServer>>
before(async () => {
  estate = await cli.estate()
  running = await startServer(readConfig({ LATCHKEY_DATA_DIR: cli.dataDir, PORT: '0' }))
})
after(async () => {
  await running.stop()
  cli.dispose()
})

const begin = async (name: string, key = estate.key.key): Promise<Leased> => {
  const { registry, verifiers, operator } = running
  return verifiers.begin(await registry.authenticate(key), { name, leaseSeconds: 60 }, operator.origin())
}
const call = async ({ lease, position }: Leased) =>
  running.verifiers.renew(await running.registry.authenticate(estate.key.key), lease, position)

test('the operator makes, lists and revokes keys for all accounts, which have the role of a verifier', async () => {
  const wrong = await cli.run('key', 'create', '--all', '--role', 'owner')
  assert.deepEqual([wrong.code, /role verifier/.test(wrong.stderr)], [1, true])
  const both = await cli.run('key', 'create', '--all', '--role', 'verifier', '--account', estate.account._id)
  assert.deepEqual([both.code, /but not both/.test(both.stderr)], [2, true])
  const made = await cli.run('key', 'create', '--all', '--role', 'verifier', '--name', 'Sidecars', '--json')
  const listed = await cli.run('key', 'list', '--all', '--json')
  assert.deepEqual(
    listed.json.map(({ _id, name, role }: Record<string, string>) => [_id, name, role]),
    [[made.json._id, 'Sidecars', 'verifier']],
  )
  const lease = await begin('of all accounts', made.json.key)
  assert.equal((await cli.run('verifier', 'list', '--json')).json.items[0]._id, lease.lease)
  assert.equal((await cli.run('verifier', 'list', '--account', estate.account._id, '--json')).json.total, 0)
  await running.store.endLease(lease.lease, 1)
  await cli.run('key', 'revoke', made.json._id)
  await assert.rejects(running.registry.authenticate(made.json.key), { code: 'token-invalid' })
})

test('a change at the command line waits until a verifier of a running server has confirmed it', async () => {
  const make = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'CI', '--json']
  const { _id } = (await cli.run(...make)).json
  const parked = call(await begin('till'))
  const disabling = cli.run('token', 'disable', _id)
  const told = await parked
  assert.deepEqual(told.forget, [{ tokenId: _id }])
  const confirming = call(told)
  assert.equal((await disabling).code, 0)
  const [confirmed] = await running.store.listVerifiers({ ids: [told.lease] })
  assert.equal(confirmed?.renewal, 3)
  await running.store.endLease(told.lease, 3)
  // Wakes the call that waits.
  await cli.run('token', 'enable', _id)
  await confirming
})

test('the operator lists the verifiers of all accounts, and evicts one', async () => {
  const { lease, position, ...rest } = await begin('till 2')
  const { json } = await cli.run('verifier', 'list', '--json')
  assert.deepEqual([json.total, json.items[0]._id, json.items[0].name], [1, lease, 'till 2'])
  assert.equal((await cli.run('verifier', 'evict', lease)).code, 0)
  await assert.rejects(call({ lease, position, ...rest }), { code: 'verifier-evicted' })
  const again = await cli.run('verifier', 'evict', 'vfr_none')
  assert.deepEqual([again.code, /Verifier not found/.test(again.stderr)], [1, true])
})

test('a restore waits until no verifier can decide by what it knew of the store that was replaced', async () => {
  const other = new Cli()
  try {
    const { key } = await other.estate()
    const file = join(other.dataDir, 'backup.lkb')
    await other.run('backup', file)
    await opened(other.dataDir, async ({ registry, verifiers, operator }) =>
      verifiers.begin(await registry.authenticate(key.key), { leaseSeconds: 2 }, operator.origin()),
    )
    const restored = await other.run('restore', file, '--replace', '--json')
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stderr, /Waiting 3 s,/)
    assert.equal((await other.run('verifier', 'list', '--json')).json.total, 0)
    // Of a lease that began after the backup, nothing says that it is over.
    const again = await other.run('restore', file, '--replace', '--json')
    assert.match(again.stderr, /Waiting 3 s/)
    const newer = join(other.dataDir, 'newer.lkb')
    await other.run('backup', newer)
    assert.doesNotMatch((await other.run('restore', newer, '--replace', '--json')).stderr, /Waiting/)
  } finally {
    other.dispose()
  }
})
