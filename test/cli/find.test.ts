// `latchkey find`: every credential and account key in a text, however it is written there.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { EXIT, exitCodeOf } from '../../src/cli/terminal/exit-codes.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import { Cli } from '../support/cli.ts'

const cli = new Cli()
after(() => cli.dispose())

interface Made {
  readonly _id: string
  readonly token: string
}
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
let estate: any
let [ours, off, bare, dotted, base64] = [] as unknown as readonly [Made, Made, Made, Made, Made]
before(async () => {
  estate = await cli.estate()
  const make = async (name: string, ...rest: string[]) =>
    (await cli.run('token', 'create', '--sub-account', estate.subAccount._id, '--name', name, ...rest, '--json')).json
  ours = await make('Ours')
  off = await make('Off', '--status', 'inactive')
  bare = await make('Bare', '--credential', 'hunter2')
  dotted = await make('Dotted', '--credential', 'SG.a1b2.c3-d4')
  base64 = await make('Base64', '--credential', 'q1+/w2==')
})

/** What was found, as ids, and that no part of a secret was printed. */
async function find(...chunks: (string | Uint8Array)[]): Promise<string[]> {
  const { code, stdout, stderr } = await cli.runGiven(chunks, 'find', '--json')
  const { found } = JSON.parse(stdout)
  assert.match(stderr, /^(Reading: \d+ MB\n)*$/)
  assert.equal(code, found.length > 0 ? 0 : 5)
  for (const secret of [ours.token, off.token, estate.key.key, dotted.token, base64.token, 'hunter2']) {
    assert.ok(!stdout.includes(secret))
  }
  return found.map(({ _id }: { _id: string }) => _id)
}

describe('a credential is found', () => {
  const inContext: readonly [string, (credential: string) => string][] = [
    ['alone', (it) => it],
    ['after other lines', (it) => `GET /\n\n200 OK\n${it}`],
    ['in a .env file', (it) => `# settings\nexport API_TOKEN=${it}\nDEBUG=1\n`],
    ['in a quoted .env file', (it) => `API_TOKEN="${it}"\r\n`],
    ['in JSON', (it) => JSON.stringify({ a: 1, headers: { 'x-api-key': it }, b: [it] })],
    ['in JSON within JSON', (it) => JSON.stringify(JSON.stringify({ token: it }))],
    ['in YAML', (it) => `token: ${it}\n`],
    ['in a curl line', (it) => `curl -H 'Authorization: Bearer ${it}' https://x.example/`],
    ['in a URL', (it) => `https://x.example/v1?key=${it}&page=2`],
    ['in a sentence', (it) => `Somebody has posted (${it}), or ${it} itself.`],
    ['in markup', (it) => `<code>${it}</code>`],
    ['between garbage', (it) => `\u0000\ufffd\u00e9${it}\u00e9\u0001`],
    ['in a list of variables that NUL separates', (it) => `A=1\0TOKEN=${it}\0B=2`],
  ]
  for (const [where, write] of inContext) {
    test(where, async () => {
      const made = [ours, bare, dotted, base64]
      const text = [...made.map(({ token }) => token), estate.key.key].map(write).join('\n')
      assert.deepEqual(await find(text), [...made.map(({ _id }) => _id), estate.key._id])
    })
  }

  test('wherever the input is cut into chunks, and between bytes that are no UTF-8', async () => {
    assert.deepEqual(await find(`x\nkey=${ours.token.slice(0, 9)}`, `${ours.token.slice(9)};"${dotted.token}"`), [
      ours._id,
      dotted._id,
    ])
    assert.deepEqual(await find(Buffer.from([0xfd, 0xc3, 0x28]), Buffer.from(bare.token), Buffer.from([0xfe])), [
      bare._id,
    ])
  })

  test('within a word of any length, and glued to other letters where it is one of ours', async () => {
    const long = 'ab.'.repeat(70_000)
    assert.deepEqual(await find(`${long}${ours.token}xyz${long}`), [ours._id])
    assert.deepEqual(await find(`{"a":"${long}","b":"${dotted.token}"}`), [dotted._id])
  })
})

function assertFew(candidates: number): void {
  assert.ok(candidates >= 5 && candidates < 100, `${candidates} candidates`)
}

test('in a long text every one is found, and what repeats is looked up once', async () => {
  const made = [ours, bare, dotted, base64]
  const filler = '10.1.2.3 - - "GET /api/v1/users/123?page=7 HTTP/1.1" 200 2326\n'.repeat(2_000)
  const text = [...made.map(({ token }) => token), estate.key.key].map((each) => `${filler}X_KEY="${each}"\n`).join('')
  const { found, candidates } = (await cli.runGiven([text], 'find', '--json')).json
  assert.deepEqual(
    found.map(({ _id }: Made) => _id),
    [...made.map(({ _id }) => _id), estate.key._id],
  )
  assertFew(candidates)
})

test('all that a text holds is told, each with whose it is, its line, whether it is accepted and how to end that', async () => {
  const text = `one ${ours.token}\n${off.token} ${estate.key.key}\nagain ${ours.token}\n`
  const { found, candidates } = (await cli.runGiven([text], 'find', '--json')).json
  const pick = found.map(
    // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
    ({ line, kind, _id, account, accepted, refusal, toEnd }: any) => [
      line,
      kind,
      _id,
      account,
      accepted,
      refusal,
      toEnd,
    ],
  )
  const account = estate.account._id
  assert.deepEqual(pick, [
    [1, 'token', ours._id, account, true, null, `latchkey token disable ${ours._id}`],
    [2, 'token', off._id, account, false, 'inactive', null],
    [2, 'account key', estate.key._id, account, true, null, `latchkey key revoke ${estate.key._id}`],
  ])
  assert.deepEqual([found[0].subAccount, found[0].former], [{ _id: estate.subAccount._id, name: 'S' }, false])
  assertFew(candidates)
  const { stdout } = await cli.runGiven([text], 'find')
  const heading = `^\\D+ ${candidates} \\w+: 3 found, 2 .*\nline +kind +_id `
  assert.match(stdout, new RegExp(heading))
  assert.match(stdout, new RegExp(`^2 +token +${off._id} .* no, inactive$`, 'm'))
  assert.match(
    stdout,
    new RegExp(`To end access:\n {2}latchkey token disable ${ours._id}\n {2}latchkey key revoke ${estate.key._id}\n$`),
  )
})

test('a credential that was rotated out is told as such, and a search is no use of it', async () => {
  const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'Rotated', '--json']
  const { _id, token } = (await cli.run(...create)).json
  await cli.run('token', 'rotate', _id, '--overlap', '1h')
  const [former] = (await cli.runGiven([token], 'find', '--json')).json.found
  assert.deepEqual([former._id, former.former, former.accepted], [_id, true, true])
  const db = new DatabaseSync(join(cli.dataDir, 'latchkey.db'), { readOnly: true })
  assert.deepEqual(db.prepare('SELECT count(*) AS n FROM last_used').get()?.n, 0)
  db.close()
})

test('an imported credential that was rotated out is found in a long text, too', async () => {
  const text = `${'a line of words\n'.repeat(5_000)}hunter2\n`
  await cli.run('token', 'rotate', bare._id, '--overlap', '1h')
  const { found } = (await cli.runGiven([text], 'find', '--json')).json
  assert.deepEqual(
    found.map(({ _id, former }: Made & { former: boolean }) => [_id, former]),
    [[bare._id, true]],
  )
})

test('account keys that are refused are found too, with the reason', async () => {
  const make = async (...rest: string[]) =>
    (await cli.run('key', 'create', '--account', estate.account._id, ...rest, '--json')).json
  const [revoked, late] = [await make(), await make('--expires-at', '2020-01-01T00:00:00Z')]
  await cli.run('key', 'revoke', revoked._id)
  const { found } = (await cli.runGiven([revoked.key, '\n', late.key], 'find', '--json')).json
  assert.deepEqual(
    found.map(({ refusal }: { refusal: string }) => refusal),
    ['revoked', 'expired'],
  )
})

test('with --disable, tokens are disabled and account keys revoked, of all accounts, and nothing else is', async () => {
  const other = await cli.estate()
  const make = async (subAccount: string, name: string) =>
    (await cli.run('token', 'create', '--sub-account', subAccount, '--name', name, '--json')).json
  const [here, there, bystander] = [
    await make(estate.subAccount._id, 'Here'),
    await make(other.subAccount._id, 'There'),
    await make(other.subAccount._id, 'Bystander'),
  ]
  const text = `${here.token}\n${there.token} ${off.token}\n${other.key.key}\n`
  const { found, disabled } = (await cli.runGiven([text], 'find', '--disable', '--json')).json
  assert.deepEqual(
    found.map(({ _id, accepted, disabled, toEnd }: Made & Record<string, unknown>) => [_id, accepted, disabled, toEnd]),
    [
      [here._id, true, true, null],
      [there._id, true, true, null],
      [off._id, false, false, null],
      [other.key._id, true, true, null],
    ],
  )
  assert.equal(disabled, 3)
  const refusals = (await cli.runGiven([text], 'find', '--json')).json.found.map(({ refusal }: never) => refusal)
  assert.deepEqual(refusals, ['inactive', 'inactive', 'inactive', 'revoked'])
  assert.equal((await cli.run('token', 'get', bystander._id, '--json')).json.status, 'active')
  const [last] = (await cli.run('history', 'list', here._id, '--json')).json.items
  assert.deepEqual([last.by, last.to], ['operator', { status: 'inactive', reason: 'leaked' }])
  const [revoked] = (await cli.run('history', 'list', other.account._id, '--action', 'key.revoke', '--json')).json.items
  assert.equal(revoked.to.reason, 'leaked')
})

test('nothing found has an exit code of its own, says how much was looked at, and repeats nothing', async () => {
  for (const [input, candidates] of [
    ['', 0],
    ['\n \n', 0],
    ['nobody-has-this', 1],
    ['x'.repeat(5_000), 0],
  ] as const) {
    const { code, stdout, stderr } = await cli.runGiven([input], 'find')
    assert.deepEqual([code, stderr], [5, ''])
    assert.match(stdout, new RegExp(`^\\D+ ${candidates} \\w+: 0 found, 0 .*\n$`))
    assert.deepEqual(JSON.parse((await cli.runGiven([input], 'find', '--json')).stdout), { candidates, found: [] })
  }
  assert.match((await cli.run('find', '--help')).stdout, /Exit codes: 0 .*, 5 .*; any other: /)
})

test('a search that cannot be completed is neither of the two', async () => {
  const wide = await cli.runGiven([Buffer.from(`\ufeff${ours.token}`, 'utf16le')], 'find')
  assert.deepEqual([wide.code, wide.stdout], [1, ''])
  assert.match(wide.stderr, /UTF-16.* UTF-8/)
  const empty = new Cli()
  assert.equal((await empty.runGiven([ours.token], 'find')).code, 1)
  empty.dispose()
  assert.equal((await cli.run('find', join(cli.dataDir, 'no-such-file'))).code, 1)
})

test('a store that is gone is not taken for nothing found', async () => {
  const env = { DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey', LATCHKEY_MASTER_KEY: `${'A'.repeat(43)}=` }
  const { code, stderr } = await cli.runAs({ input: [ours.token], env }, 'find')
  assert.equal(code, EXIT.unreachable, stderr)
  assert.match(stderr, /cannot be reached/)
  for (const lost of [new Failure('unavailable'), new Failure('revocations-unknown'), new Failure('outcome-unknown')])
    assert.notEqual(exitCodeOf(lost), EXIT.nothingFound)
  const codes = Object.values(EXIT)
  assert.equal(new Set(codes).size, codes.length)
})

test('a file is searched as standard input is', async () => {
  const path = join(cli.dataDir, 'leaked.txt')
  writeFileSync(path, `\n${ours.token}\n`)
  for (const file of [path, '-']) {
    const { json, code } = await cli.runGiven(file === '-' ? [readFileSync(path)] : [], 'find', file, '--json')
    assert.deepEqual(
      [code, json.found.map(({ _id, line }: Made & { line: number }) => [_id, line])],
      [0, [[ours._id, 2]]],
    )
  }
  writeFileSync(path, 'nothing\n')
  assert.equal((await cli.runGiven([ours.token], 'find', path)).code, EXIT.nothingFound)
})
