// Policies, tags and metadata on the command line: the rules are those of PATCH.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Cli } from '../support/cli.ts'

const cli = new Cli()
let subAccountId: string
let accountId: string
before(async () => {
  const { account, subAccount } = await cli.estate()
  accountId = account._id
  subAccountId = subAccount._id
})
after(() => cli.dispose())

const POLICY = { scopes: ['orders:read'], rate: { limit: 5, seconds: 60 } }

async function aToken(name: string): Promise<string> {
  return (await cli.run('token', 'create', '--sub-account', subAccountId, '--name', name, '--json')).json._id
}

test('token set merges a policy and metadata, replaces tags, and clears', async () => {
  const id = await aToken('Set')
  const set = async (...options: string[]) => (await cli.run('token', 'set', id, ...options, '--json')).json
  const first = await set('--policy', JSON.stringify(POLICY), '--metadata', '{"a":1}', '--tag', 'red', 'round')
  assert.deepEqual([first.policy, first.metadata, first.tags], [POLICY, { a: 1 }, ['red', 'round']])
  const second = await set('--policy', '{"scopes":null}', '--metadata', '{"b":2}', '--tag', 'blue')
  assert.deepEqual([second.policy, second.metadata], [{ rate: POLICY.rate }, { a: 1, b: 2 }])
  const third = await set('--clear', 'policy', 'tags')
  assert.deepEqual([third.policy, third.metadata], [null, { a: 1, b: 2 }])
  assert.deepEqual((await cli.run('token', 'list', '--account', accountId, '--tag', 'blue', '--json')).json.items, [])
})

test('metadata of any shape is shown as JSON to people too', async () => {
  const id = await aToken('Shown')
  for (const metadata of ['{"a":1}', '{"_id":"x","name":"y"}']) {
    await cli.run('token', 'set', id, '--clear', 'metadata')
    const { stdout } = await cli.run('token', 'set', id, '--metadata', metadata)
    assert.ok(
      stdout.split('\n').some((line) => line.startsWith('metadata ') && line.endsWith(`  ${metadata}`)),
      stdout,
    )
  }
})

test('what breaks a rule is refused with its name, and changes nothing', async () => {
  const id = await aToken('Refused')
  const before = await cli.run('token', 'get', id, '--json')
  for (const [options, reason] of [
    [['--policy', '{"scope":["a"]}'], /policy\.scope is unknown/],
    [['--policy', '{"maxLifetimeSeconds":60}'], /policy\.maxLifetimeSeconds is unknown/],
    [['--policy', '{scopes'], /It is JSON/],
    [['--policy', '[]'], /policy .*object/],
    [['--tag', 'x'.repeat(51)], /at most 50 characters/],
    [['--policy', '{}', '--clear', 'policy'], /policy .*both/],
    [['--clear', 'name'], /name/],
    [[], /No valid fields/],
  ] as const) {
    const { code, stderr } = await cli.run('token', 'set', id, ...options)
    assert.notEqual(code, 0)
    assert.match(stderr, reason)
  }
  assert.deepEqual((await cli.run('token', 'get', id, '--json')).json, before.json)
})

test('token recent says from where a token was accepted and why it was refused, the last one first', async () => {
  const options = ['--name', 'Recent', '--json']
  const { _id, token } = (await cli.run('token', 'create', '--sub-account', subAccountId, ...options)).json
  const recent = async (...more: string[]) => cli.run('token', 'recent', _id, ...more)
  assert.deepEqual((await recent('--json')).json, { accepted: [], refused: [] })
  assert.match((await recent()).stdout, /^No verification .*\n$/)
  const verify = (address: string) => cli.runAs({ input: [token] }, 'verify', '--address', address)
  assert.equal((await verify('203.0.113.9')).code, 0)
  await cli.run('token', 'set', _id, '--policy', '{"addresses":["203.0.113.9"]}')
  assert.equal((await verify('203.0.113.10')).code, 1)
  const { accepted, refused } = (await recent('--json')).json
  const [then, now] = [accepted[0].at, refused[0].at]
  assert.deepEqual(accepted, [{ address: '203.0.113.9', at: then }])
  assert.deepEqual(refused, [{ reason: 'address', address: '203.0.113.10', at: now }])
  const [header, ...lines] = (await recent()).stdout.trimEnd().split('\n')
  assert.match(header ?? '', /^at +verdict +address$/)
  assert.deepEqual(
    lines.map((line) => line.split(/ {2,}/)),
    [
      [now, 'refused: address', '203.0.113.10'],
      [then, 'accepted', '203.0.113.9'],
    ],
  )
})

test('sub-account set gives a ceiling, which token set does not take', async () => {
  const set = async (...options: string[]) =>
    (await cli.run('sub-account', 'set', subAccountId, ...options, '--json')).json
  const made = await set('--policy', '{"maxLifetimeSeconds":86400,"quota":{"limit":9,"per":"day"}}')
  assert.deepEqual(made.policy, { maxLifetimeSeconds: 86_400, quota: { limit: 9, per: 'day' } })
  assert.deepEqual((await set('--clear', 'policy', '--metadata', '{"plan":"gold"}')).metadata, { plan: 'gold' })
})

test('an import takes policies, tags and metadata, and names a line that breaks a rule', async () => {
  const file = join(cli.dataDir, 'policies.ndjson')
  const line = (name: string, more: object) => JSON.stringify({ subAccountId, name, ...more })
  const good = { policy: POLICY, tags: ['imported'], metadata: { from: 'elsewhere' } }
  writeFileSync(file, `${line('Good', good)}\n${line('Bad', { policy: { rate: { limit: 0, seconds: 1 } } })}\n`)
  const { json, stderr } = await cli.run('import', file, '--skip-bad', '--json')
  assert.deepEqual(json, { lines: 2, imported: 1, unchanged: 0, bad: 1 })
  assert.match(stderr, /line 2.*policy\.rate\.limit /)
  const found = (await cli.run('token', 'list', '--account', accountId, '--tag', 'imported', '--json')).json.items
  assert.equal(found.length, 1)
  const { policy, tags, metadata } = (await cli.run('token', 'get', found[0]._id, '--json')).json
  assert.deepEqual({ policy, tags, metadata }, good)
})
