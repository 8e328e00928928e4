// The operator's commands: what they print for people and for scripts, and how they refuse.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { formatTable, printable } from '../../src/cli/terminal/output.ts'
import { BIN, Cli } from '../support/cli.ts'

const cli = new Cli()
// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
let estate: any
before(async () => {
  const account = (await cli.run('account', 'create', '--name', 'A', '--json')).json
  const key = (await cli.run('key', 'create', '--account', account._id, '--json')).json
  const given = ['--name', 'S', '--email', 's@x.example', '--company-name', 'C', '--json']
  const subAccount = (await cli.run('sub-account', 'create', '--account', account._id, ...given)).json
  estate = { account, key, subAccount }
})
after(() => cli.dispose())

describe('--json prints exactly one document', () => {
  test('account create', () => {
    assert.deepEqual(Object.keys(estate.account), ['_id', 'name', 'createdAt', 'credentials'])
    assert.match(estate.account._id, /^acc_/)
  })

  test('key create, with the key in it and nowhere else afterwards', async () => {
    assert.deepEqual(Object.keys(estate.key), ['_id', 'key', 'expiresAt'])
    assert.match(estate.key.key, /^lk_key_[0-9A-Za-z]{49}$/)
    assert.equal(estate.key.expiresAt, null)
    const listed = await cli.run('key', 'list', '--account', estate.account._id, '--json')
    assert.ok(Array.isArray(listed.json))
    assert.ok(!listed.stdout.includes(estate.key.key))
  })

  test('key create takes a length, and a time, also a past one', async () => {
    const from = Date.now()
    const create = ['key', 'create', '--account', estate.account._id, '--json']
    const soon = (await cli.run(...create, '--expires-in', '90d')).json
    const days = (Date.parse(soon.expiresAt) - from) / 86_400_000
    assert.ok(days >= 90 && days < 90.01)
    const past = (await cli.run(...create, '--expires-at', '2001-01-01T00:00:00Z', '--name', 'old')).json
    assert.equal(past.expiresAt, '2001-01-01T00:00:00.000Z')
    assert.equal((await cli.run(...create, '--expires-in', '1d', '--expires-at', '2001-01-01T00:00:00Z')).code, 2)
  })

  test('key revoke tells when', async () => {
    const key = (await cli.run('key', 'create', '--account', estate.account._id, '--json')).json
    const revoked = (await cli.run('key', 'revoke', key._id, '--json')).json
    assert.match(revoked.revokedAt, /Z$/)
    assert.deepEqual((await cli.run('key', 'revoke', key._id, '--json')).json, revoked)
  })

  test('sub-account create tells the sub-account', () => {
    const { _id, createdAt, ...rest } = estate.subAccount
    assert.match(_id, /^sub_/)
    assert.match(createdAt, /Z$/)
    assert.deepEqual(rest, {
      ...{ name: 'S', email: 's@x.example', companyName: 'C', status: 'active', suspendedAt: null },
      ...{ tokens: { active: 0, inactive: 0 }, policy: null, metadata: null },
    })
  })

  test('token create tells the Token, also with a credential of another format', async () => {
    const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--json']
    const made = (await cli.run(...create, '--name', 'T', '--status', 'inactive')).json
    assert.deepEqual(Object.keys(made), ['_id', 'name', 'token', 'status', 'createdAt', 'subAccount'])
    assert.equal(made.status, 'inactive')
    assert.deepEqual(Object.keys(made.subAccount), ['_id', 'name', 'email', 'companyName'])
    const brought = (await cli.run(...create, '--name', 'Old', '--credential', 'sk-legacy-1')).json
    assert.equal(brought.token, 'sk-legacy-1')
  })

  test('token create shows the credential, this once, also for an account that stores none', async () => {
    const { account, subAccount } = await cli.estate()
    await cli.run('account', 'set', account._id, '--credentials', 'once', '--yes')
    const create = ['token', 'create', '--sub-account', subAccount._id, '--name', 'Once', '--json']
    const { _id, token } = (await cli.run(...create)).json
    assert.match(token, /^lk_tok_[0-9A-Za-z]{49}$/)
    const shown = (await cli.run('token', 'get', _id, '--show-credential', '--json')).json.token
    assert.equal(shown, `lk_tok_…${token.slice(-4)}`)
  })

  test('token create takes a length of time, or a time, as key create does', async () => {
    const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--json']
    const from = Date.now()
    const made = (await cli.run(...create, '--name', 'Short', '--expires-in', '12h')).json
    const { expiresAt } = (await cli.run('token', 'get', made._id, '--json')).json
    const hours = (Date.parse(expiresAt) - from) / 3_600_000
    assert.ok(hours >= 12 && hours < 12.1)
    const past = (await cli.run(...create, '--name', 'Past', '--expires-at', '2001-01-01T00:00:00Z')).json
    assert.equal((await cli.run('token', 'get', past._id, '--json')).json.expiresAt, '2001-01-01T00:00:00.000Z')
    const both = ['--name', 'Both', '--expires-in', '1d', '--expires-at', '2001-01-01T00:00:00Z']
    const { code, stderr } = await cli.run(...create, ...both)
    assert.equal(code, 2)
    assert.match(stderr, /exclude each other/)
  })

  test('token get shows a credential only when it is asked to', async () => {
    const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'Got', '--json']
    const { _id, token } = (await cli.run(...create)).json
    const got = await cli.run('token', 'get', _id, '--json')
    const carried = ['tags', 'metadata', 'policy']
    const keys = ['_id', 'name', 'token', 'status', 'createdAt', 'subAccount', 'details']
    assert.deepEqual(Object.keys(got.json), [...keys, 'expiresAt', ...carried, 'account'])
    assert.equal(got.json.token, `lk_tok_…${token.slice(-4)}`)
    assert.deepEqual([got.json.name, got.json.account], ['Got', estate.account._id])
    for (const { stdout } of [got, await cli.run('token', 'get', _id)]) assert.ok(!stdout.includes(token))
    assert.equal((await cli.run('token', 'get', _id, '--show-credential', '--json')).json.token, token)
  })

  test('token disable, enable, rotate and delete; only rotate makes a credential, and only rotate shows one', async () => {
    const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'Life', '--json']
    const { _id, token } = (await cli.run(...create)).json
    for (const [verb, status] of [
      ['disable', 'inactive'],
      ['enable', 'active'],
    ] as const) {
      const { json, stdout } = await cli.run('token', verb, _id, '--json')
      assert.deepEqual([json._id, json.status], [_id, status])
      assert.ok(!stdout.includes(token))
    }
    assert.notEqual((await cli.run('token', 'rotate', _id, '--overlap', '1h', '--json')).json.token, token)
    assert.deepEqual((await cli.run('token', 'delete', _id, '--json')).json, { _id, deleted: true })
    const history = (await cli.run('history', 'list', estate.account._id, '--json')).json
    assert.equal(history.items[0].action, 'token.delete')
  })

  test('account rename tells the account, and the history tells from what to what', async () => {
    const { _id, createdAt } = (await cli.run('account', 'create', '--name', 'Before', '--json')).json
    const renamed = (await cli.run('account', 'rename', _id, '--name', 'After', '--json')).json
    assert.deepEqual(renamed, { _id, name: 'After', createdAt, credentials: 'recoverable' })
    const [latest] = (await cli.run('history', 'list', _id, '--json')).json.items
    assert.deepEqual([latest.action, latest.from, latest.to], ['account.rename', { name: 'Before' }, { name: 'After' }])
    assert.deepEqual((await cli.run('history', 'verify', '--json')).json.problems, [])
  })

  test('history list turns pages', async () => {
    const list = (...args: string[]) => cli.run('history', 'list', estate.account._id, ...args)
    const all = (await list('--json')).json.items
    assert.deepEqual((await list('--limit', '2', '--page', '2', '--json')).json.items, all.slice(2, 4))
    assert.deepEqual((await list('--page', '1000', '--json')).json.items, [])
    assert.match((await list('--limit', '2')).stdout, new RegExp(`^${all.length} changes; .* page 1 of `))
    const { code, stderr } = await list('--limit', '101')
    assert.equal(code, 1)
    assert.match(stderr, /limit .*1 to 100/)
  })

  test('sub-account suspend and resume, and since when', async () => {
    const suspended = (await cli.run('sub-account', 'suspend', estate.subAccount._id, '--json')).json
    assert.equal(suspended.status, 'suspended')
    assert.match(suspended.suspendedAt, /^2\d\d\d-.*Z$/)
    const resumed = (await cli.run('sub-account', 'resume', estate.subAccount._id, '--json')).json
    assert.deepEqual([resumed.status, resumed.suspendedAt], ['active', null])
  })

  test('history list is filtered by actor, action and time, and says what it takes', async () => {
    const list = (...args: string[]) => cli.run('history', 'list', estate.account._id, '--json', ...args)
    const actions = ({ json }: Awaited<ReturnType<typeof list>>) =>
      new Set(json.items.map(({ action }: { action: string }) => action))
    assert.deepEqual(actions(await list('--action', 'account.create', '--by', 'operator')), new Set(['account.create']))
    assert.deepEqual((await list('--by', 'key_nobody')).json.items, [])
    assert.deepEqual((await list('--before', '2000-01-01T00:00:00Z')).json.items, [])
    assert.equal((await list('--after', '0', '--limit', '1')).json.items[0].seq, 1)
    assert.deepEqual((await list('--before-position', '1')).json.items, [])
    const refused = await list('--action', 'token.paint')
    assert.deepEqual([refused.code, /action .*account\.create/.test(refused.stderr)], [1, true])
  })

  test('history list gives scripts the page of the HTTP route, and people a sentence', async () => {
    const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'Told', '--json']
    const { _id } = (await cli.run(...create)).json
    await cli.run('token', 'disable', _id)
    const told = (await cli.run('history', 'list', _id, '--json')).json
    const server = cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'silent' })
    const headers = { authorization: `Bearer ${estate.key.key}` }
    const route = await fetch(`${await server.ready()}/api/v1/apiClient/token/${_id}/history?limit=100`, { headers })
    assert.deepEqual(told.items[0].to, { status: 'inactive' })
    assert.deepEqual(told, ((await route.json()) as { data: unknown }).data)
    server.kill('SIGTERM')
    await server.exited
    assert.match((await cli.run('history', 'list', _id)).stdout, /status: active → inactive/)
  })

  test('migrate tells what was applied: nothing on a store that is up to date', async () => {
    assert.deepEqual((await cli.run('migrate', '--json')).json, { applied: [] })
    const fresh = new Cli()
    const { applied } = (await fresh.run('migrate', '--json')).json
    assert.ok(applied.length > 0)
    fresh.dispose()
  })

  test('seed tells the keys and the sums', async () => {
    const { json } = await cli.run('seed', '--accounts', '2', '--sub-accounts', '3', '--tokens', '10', '--json')
    assert.deepEqual(
      [json.accounts.length, Object.keys(json.accounts[0]), json.subAccounts, json.tokens],
      [2, ['_id', 'key'], 6, 20],
    )
  })

  test('doctor and history verify report a healthy store', async () => {
    assert.equal((await cli.run('doctor', '--json')).json.healthy, true)
    assert.deepEqual((await cli.run('history', 'verify', '--json')).json.problems, [])
  })
})

describe('lists', () => {
  const own = new Cli()
  const sub = (name: string) => ['--name', name, '--email', 'e@x.example', '--company-name', 'C', '--json']
  let [account, berlin, paris] = ['', '', '']
  let tokens: { _id: string; token: string }[] = []
  before(async () => {
    account = (await own.run('account', 'create', '--name', 'A', '--json')).json._id
    const owners = await Promise.all(
      ['Berlin', 'Paris'].map((name) => own.run('sub-account', 'create', '--account', account, ...sub(name))),
    )
    ;[berlin = '', paris = ''] = owners.map(({ json }) => json._id)
    for (const [owner, name, ...rest] of [
      [berlin, 'One'],
      [berlin, 'Two', '--status', 'inactive'],
      [paris, 'Three', '--credential', 'from-elsewhere'],
    ]) {
      const made = await own.run(
        'token',
        'create',
        '--sub-account',
        owner ?? '',
        '--name',
        name ?? '',
        ...rest,
        '--json',
      )
      tokens = [...tokens, made.json]
    }
  })
  after(() => own.dispose())

  const namesOf = async (...args: string[]) => {
    const { json, stderr } = await own.run('token', 'list', '--account', account, ...args, '--json')
    assert.equal(stderr, '')
    return [json.total, ...json.items.map(({ name }: { name: string }) => name).sort()]
  }

  test('token list filters as the HTTP list does, counts exactly, and shows no credential', async () => {
    assert.deepEqual(await namesOf(), [3, 'One', 'Three', 'Two'])
    assert.deepEqual(await namesOf('--sub-account', berlin), [2, 'One', 'Two'])
    assert.deepEqual(await namesOf('--sub-account', berlin, '--status', 'inactive'), [1, 'Two'])
    assert.deepEqual(await namesOf('--search', 'HRE'), [1, 'Three'])
    assert.deepEqual(await namesOf('--idle-days', '90', '--suspended-days', '30'), [0])
    assert.deepEqual((await namesOf('--limit', '2')).length, 3)
    assert.deepEqual((await namesOf('--limit', '2', '--page', '2')).length, 2)
    const { stdout } = await own.run('token', 'list', '--account', account, '--limit', '2')
    assert.match(stdout, /^3 tokens; .* page 1 of 2\n_id +name +status +createdAt +expiresAt +subAccount\n/)
    for (const { token } of tokens) assert.ok(!stdout.includes(token))
  })

  test('sub-account list tells how many tokens each has', async () => {
    const { json } = await own.run('sub-account', 'list', '--account', account, '--json')
    const found = json.items.map(({ name, tokens }: { name: string; tokens: object }) => [name, tokens])
    assert.deepEqual(Object.fromEntries(found), {
      Berlin: { active: 1, inactive: 1 },
      Paris: { active: 1, inactive: 0 },
    })
    const { stdout } = await own.run('sub-account', 'list', '--account', account, '--search', 'paris')
    assert.match(stdout, /^1 sub-account\n/)
    assert.match(stdout, /Paris .* 1 active, 0 inactive\n$/)
  })

  test('a list of what is not there is refused, and names it', async () => {
    for (const [args, reason] of [
      [['token', 'list', '--account', 'acc_no'], /Account not found/],
      [['sub-account', 'list', '--account', 'acc_no'], /Account not found/],
      [['token', 'list', '--account', account, '--sub-account', 'sub_no'], /Sub account .*not exist/],
      [['token', 'list', '--account', account, '--limit', '101'], /limit .*1 to 100/],
      [['token', 'list', '--account', account, '--status', 'off'], /status .*active or inactive/],
    ] as const) {
      const { code, stdout, stderr } = await own.run(...args)
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, reason)
    }
  })
})

describe('account set --credentials once asks before it erases', () => {
  const own = new Cli()
  after(() => own.dispose())
  const stored = async (id: string) => (await own.run('token', 'get', id, '--show-credential', '--json')).json.token

  test('and erases only after a yes, or with --yes; where nobody can be asked, without either it is wrong usage', async () => {
    const { account, subAccount } = await own.estate()
    const create = ['token', 'create', '--sub-account', subAccount._id, '--name', 'T', '--json']
    const { _id, token } = (await own.run(...create)).json
    const set = ['account', 'set', account._id, '--credentials', 'once']
    const unasked = await own.run(...set)
    assert.deepEqual([unasked.code, /--yes/.test(unasked.stderr)], [2, true])
    const declined = await own.runAs({ isTTY: true, input: ['\n'] }, ...set)
    assert.deepEqual([declined.code, /Erase .* A\? .*Nothing/s.test(declined.stderr)], [1, true])
    assert.equal(await stored(_id), token)
    assert.equal((await own.runAs({ isTTY: true, input: ['yes\n'] }, ...set)).code, 0)
    assert.equal(await stored(_id), `lk_tok_…${token.slice(-4)}`)
    assert.equal((await own.run('account', 'set', account._id, '--credentials', 'recoverable')).code, 0)
  })
})

test('key create says which role it took, unless one was given', async () => {
  const create = ['key', 'create', '--account', estate.account._id]
  assert.match((await cli.run(...create)).stderr, /^No --role .* owner/)
  assert.equal((await cli.run(...create, '--role', 'owner')).stderr, '')
})

test('one object is printed as lines, each with a field', async () => {
  const { stdout } = await cli.run('sub-account', 'get', estate.subAccount._id)
  const lines = stdout.trimEnd().split('\n')
  assert.match(lines[0] ?? '', /^_id +sub_[0-9a-f]+$/)
  assert.ok(lines.includes('companyName  C'))
  assert.ok(lines.every((line) => /^\w+ {2,}\S/.test(line)))
})

test('a table has any number of rows', () => {
  const table = formatTable(Array.from({ length: 150_000 }, (_, n) => ({ n: String(n) })))
  assert.equal(table.split('\n').length, 150_002)
})

test('a rotation overlaps for no longer than over HTTP, and its history outlives the token', async () => {
  const own = new Cli()
  const { subAccount } = await own.estate()
  const made = await own.run('token', 'create', '--sub-account', subAccount._id, '--name', 'T', '--json')
  const rotate = (overlap: string) => own.run('token', 'rotate', made.json._id, '--overlap', overlap)
  const { code, stderr } = await rotate('31d')
  assert.equal(code, 2)
  assert.match(stderr, /'--overlap <time>' .*at most 30d/)
  assert.equal((await rotate('30d')).code, 0)
  assert.match((await own.run('history', 'list', made.json._id)).stdout, /formerCredentialUntil: - → 2\d\d\d-/)
  assert.equal((await own.run('token', 'delete', made.json._id)).code, 0)
  assert.match((await own.run('history', 'list', made.json._id)).stdout, /token\.delete/)
  const again = await own.run('token', 'delete', made.json._id)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /token not found/)
  own.dispose()
})

test('nobody but this user can read what is made for a store', async () => {
  const own = new Cli()
  await own.estate()
  for (const name of readdirSync(own.dataDir)) {
    assert.equal(statSync(join(own.dataDir, name)).mode & 0o777, 0o600, name)
  }
  own.dispose()
})

test('commands say where they have looked for a store, and make none', async () => {
  const own = new Cli()
  for (const args of [
    ['doctor'],
    ['backup', join(own.dataDir, 'file')],
    ['copy', '--to', join(own.dataDir, 'to')],
    ['restore', '--accept-revocation-loss'],
    ['history', 'verify'],
    ['master-key', 'rotate'],
    ['account', 'list'],
    ['token', 'disable', 'tok_x'],
  ]) {
    const { code, stderr } = await own.run(...args)
    assert.equal(code, 1)
    assert.match(stderr, /^latchkey: .*no store in .*LATCHKEY_DATA_DIR.*`latchkey account create`\.\n$/)
    assert.ok(stderr.includes(` ${own.dataDir}.`))
  }
  assert.deepEqual(readdirSync(own.dataDir), [])
  own.dispose()
})

test('commands that create no store take an empty file for none, and leave it empty', async () => {
  const own = new Cli()
  await own.estate()
  const database = join(own.dataDir, 'latchkey.db')
  truncateSync(database)
  for (const args of [['account', 'list'], ['doctor'], ['backup', join(own.dataDir, 'file')]]) {
    const { code, stderr } = await own.run(...args)
    assert.equal(code, 1)
    assert.match(stderr, /latchkey\.db is empty\. .*`latchkey restore FILE --replace`/)
  }
  assert.equal(statSync(database).size, 0)
  own.dispose()
})

test('copy takes no address that it does not know for a folder', async () => {
  const own = new Cli()
  await own.estate()
  const { code, stderr } = await own.run('copy', '--to', 'postgre://user:secret@host/db')
  assert.equal(code, 1)
  assert.match(stderr, /--to .*postgres:/)
  assert.doesNotMatch(stderr, /secret/)
  for (const unset of ['', ' ']) {
    assert.match((await own.run('copy', '--to', unset)).stderr, /--to .*folder; nothing/)
  }
  own.dispose()
})

test('copy names its option, and no setting, where the target is at fault', async () => {
  const own = new Cli()
  await own.estate()
  const foreign = new Cli()
  new DatabaseSync(join(foreign.dataDir, 'latchkey.db')).exec('CREATE TABLE theirs (x)')
  try {
    for (const [to, message] of [
      [foreign.dataDir, /Name another folder \(--to\)/],
      ['postgres://127.0.0.1:1/none', /cannot be reached: .*--to/],
      ['postgres://user:a#b/c@host/db', /--to is not/],
    ] as const) {
      const { code, stderr } = await own.run('copy', '--to', to)
      assert.equal(code, 1)
      assert.match(stderr, message)
      assert.doesNotMatch(stderr, /DATABASE_URL|LATCHKEY_DATA_DIR|a#b/)
    }
  } finally {
    own.dispose()
    foreign.dispose()
  }
})

test('doctor names a row that was altered by hand, to scripts and to people, and fails', async () => {
  const own = new Cli()
  try {
    const { account, subAccount } = await own.estate()
    const db = new DatabaseSync(join(own.dataDir, 'latchkey.db'))
    db.prepare('UPDATE sub_accounts SET suspended_at = 1').run()
    db.close()
    const told = await own.run('doctor', '--json')
    assert.equal(told.code, 1)
    const { healthy, problems, problemCount } = JSON.parse(told.stdout)
    assert.deepEqual([healthy, problemCount], [false, 1])
    assert.deepEqual([problems[0].kind, problems[0].id], ['sub-account', subAccount._id])
    assert.match(told.stderr, /not healthy/)
    const { code, stdout } = await own.run('doctor')
    assert.equal(code, 1)
    assert.match(stdout, /^rows +1 .*stamps/m)
    assert.match(stdout, new RegExp(`^sub-account ${subAccount._id} .*stamp`, 'm'))
    assert.ok(!stdout.includes(account._id))
  } finally {
    own.dispose()
  }
})

describe('people get tables and sentences', () => {
  test('a list is a table', async () => {
    const { stdout } = await cli.run('key', 'list', '--account', estate.account._id)
    const [head = '', ...rows] = stdout.trim().split('\n')
    assert.match(head, /^_id +name +role +reveal +subAccounts +createdAt +expiresAt +revokedAt +lastUsedAt$/)
    assert.ok(rows.length >= 3)
    assert.equal(new Set(rows.map((row) => row.indexOf('20'))).size > 0, true)
  })

  test('an empty list says so', async () => {
    const account = (await cli.run('account', 'create', '--name', 'Empty', '--json')).json
    assert.match((await cli.run('key', 'list', '--account', account._id)).stdout, /^No account keys .*\n$/)
  })

  test('--help tells every command', async () => {
    const { stdout, code } = await cli.run('--help')
    assert.equal(code, 0)
    for (const command of [
      'serve',
      'migrate',
      'account',
      'key',
      'sub-account',
      'token',
      'import',
      'seed',
      'doctor',
      'history',
    ]) {
      assert.match(stdout, new RegExp(`^ {2}${command}`, 'm'))
    }
  })

  test('--version tells that of the package, and --help tells of it', async () => {
    const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '..', '..', 'package.json'), 'utf8'))
    for (const flag of ['--version', '-V']) {
      const { stdout, code } = await cli.run(flag)
      assert.deepEqual([stdout, code], [`${version}\n`, 0])
    }
    assert.match((await cli.run('--help')).stdout, /--version +print the version/)
  })

  test('what could steer a terminal is shown by its number', () => {
    assert.equal(printable('a\u001b[2Jb\u202ec\u0007\u2028'), 'a\\u{1b}[2Jb\\u{202e}c\\u{7}\\u{2028}')
  })
})

const NEW_SUB_ACCOUNT = ['sub-account', 'create', '--name', 'n', '--email', 'e@x.example', '--company-name', 'c']
const refusals: readonly [string, string[], RegExp][] = [
  ['an unknown command', ['nonsense'], /unknown command/],
  ['a missing option', ['account', 'create'], /required option '--name <name>'/],
  ['an unknown account', ['key', 'create', '--account', 'acc_x'], /Account not found/],
  ['an unknown account in a list', ['key', 'list', '--account', 'acc_x'], /Account not found/],
  ['an unknown key', ['key', 'revoke', 'key_x'], /key not found/],
  ['an unknown account of a sub-account', [...NEW_SUB_ACCOUNT, '--account', 'acc_x'], /Account not found/],
  ['an unknown sub-account', ['token', 'create', '--sub-account', 'sub_x', '--name', 'n'], /sub_x does not exist/],
  ['an unknown token', ['token', 'disable', 'tok_x'], /tok_x does not exist/],
  ['an unknown token to get', ['token', 'get', 'tok_x'], /tok_x does not exist/],
  ['an unknown account to rename', ['account', 'rename', 'acc_x', '--name', 'n'], /Account not found/],
  ['a bad length of time', ['key', 'create', '--account', 'a', '--expires-in', '3 weeks'], /such as 90d/],
  ['a bad time', ['key', 'create', '--account', 'a', '--expires-at', 'soon'], /ISO 8601/],
  ['a bad status', ['token', 'create', '--sub-account', 's', '--name', 'n', '--status', 'on'], /active or inactive/],
  ['a name with an escape', ['account', 'create', '--name', 'a\u001b[31m'], /control, line/],
  [
    'a bad e-mail address',
    ['sub-account', 'create', '--account', 'a', '--name', 'n', '--email', 'x', '--company-name', 'c'],
    /e-mail address/,
  ],
  [
    'half a credential of ours',
    ['token', 'create', '--sub-account', 's', '--name', 'n', '--credential', 'lk_tok_half'],
    /incomplete/,
  ],
  [
    'a credential with a space',
    ['token', 'create', '--sub-account', 's', '--name', 'n', '--credential', 'a b'],
    /printable ASCII/,
  ],
  ['a number that is none', ['seed', '--accounts', 'x', '--sub-accounts', '1', '--tokens', '1'], /whole number/],
  [
    'tokens without sub-accounts',
    ['seed', '--accounts', '1', '--sub-accounts', '0', '--tokens', '1'],
    /need sub-accounts/,
  ],
  ['a file that is not there', ['import', 'no-such-file.ndjson'], /does not exist/],
]

describe('what is wrong goes to standard error, with a non-zero code and nothing on standard output', () => {
  for (const [what, args, message] of refusals) {
    test(what, async () => {
      const { code, stdout, stderr } = await cli.run(...args, ...(args[0] === 'nonsense' ? [] : ['--json']))
      assert.notEqual(code, 0)
      assert.equal(stdout, '')
      assert.match(stderr, message)
      assert.ok(!stderr.includes('\u001b'))
    })
  }
})

test('a credential that is refused is not repeated, however it was given', async () => {
  const create = ['token', 'create', '--sub-account', estate.subAccount._id, '--name', 'n']
  for (const given of [
    ['--credential', 'my pass word'],
    ['--credential', 'my', 'pass', 'word'],
    ['--credential', 'lk_tok_pass-word'],
    ['--credential=my pass word'],
    ['--credentials=my-pass=word'],
  ]) {
    const { code, stdout, stderr } = await cli.run(...create, ...given)
    assert.notEqual(code, 0)
    assert.doesNotMatch(stdout + stderr, /pass|word/)
    assert.match(stderr, /--credential |too many arguments|unknown option '--credentials'/)
  }
})

describe('an existing credential', () => {
  const create = (...rest: string[]) =>
    ['token', 'create', '--sub-account', estate.subAccount._id, '--json', '--name', ...rest] as const

  test('is read from standard input, where nobody else can see it', async () => {
    const { json, stderr } = await cli.runGiven([' from-std', 'in-1\r\n'], ...create('Piped', '--credential-stdin'))
    assert.deepEqual([json.token, stderr], ['from-stdin-1', ''])
  })

  test('as an argument works too, with a warning that others can see it', async () => {
    const { json, stderr } = await cli.run(...create('Argued', '--credential', 'from-argument-1'))
    assert.equal(json.token, 'from-argument-1')
    assert.match(stderr, /^Warning: .*--credential-stdin/)
    assert.ok(!stderr.includes('from-argument-1'))
  })

  test('that is none, or is given twice, is refused and not repeated, and no token is made', async () => {
    for (const [input, message] of [
      ['', /standard input .*1 to 1024/],
      ['two words-of-it', /1 to 1024 /],
      ['x'.repeat(3_000), /1 to 1024 /],
      ['lk_tok_half', /incomplete/],
    ] as const) {
      const { code, stdout, stderr } = await cli.runGiven([input], ...create('Refused', '--credential-stdin'))
      assert.deepEqual([code, stdout], [1, ''])
      assert.match(stderr, message)
      assert.doesNotMatch(stderr, /words-of-it|xxx|half/)
    }
    const twice = await cli.runGiven(['a'], ...create('Refused', '--credential-stdin', '--credential', 'b'))
    assert.equal(twice.code, 2)
    assert.match(twice.stderr, /exclude each other/)
    assert.equal(
      (await cli.run('token', 'list', '--account', estate.account._id, '--search', 'Refused', '--json')).json.total,
      0,
    )
  })
})

test('a result that cannot be written is told in words, and as a failure', () => {
  const full = openSync('/dev/full', 'w')
  const env = { ...process.env, LATCHKEY_DATA_DIR: cli.dataDir }
  const { status, stderr } = spawnSync(process.execPath, [BIN, 'account', 'create', '--name', 'Lost'], {
    env,
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  assert.deepEqual([status, stderr.split('\n').length], [1, 2])
  assert.match(stderr, /^Standard output .*ENOSPC/)
})

test('a reader that closes early does not make a command fail', async () => {
  const env = { ...process.env, LATCHKEY_DATA_DIR: cli.dataDir }
  const listing = spawn(process.execPath, [BIN, 'account', 'list'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  listing.stdout.destroy()
  assert.deepEqual(await once(listing, 'exit'), [0, null])
})

test('the master key is made with mode 0600 and the store in a folder of its own', () => {
  assert.equal(statSync(join(cli.dataDir, 'master.key')).mode & 0o777, 0o600)
})
