// The commands that can ask a server: they do there what they do on the local store, and print the same.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isLocalOnly } from '../../src/cli/command.ts'
import { choicesIn } from '../../src/cli/commands/completion.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import { Cli, type Ran } from '../support/cli.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'

const [local, remote] = [new Cli(), new Cli()]
let server: RunningServer
let mine: Awaited<ReturnType<Cli['estate']>>
let theirs: Awaited<ReturnType<Cli['estate']>>
let keys: Readonly<Record<'owner' | 'viewer' | 'expired', string>>

before(async () => {
  ;[mine, theirs] = [await remote.estate(), await remote.estate()]
  // In the other account: what the table of commands finds must not depend on them.
  const create = async (...args: string[]) =>
    (await remote.run('key', 'create', '--account', theirs.account._id, ...args, '--json')).json.key as string
  keys = {
    owner: theirs.key.key,
    viewer: await create('--role', 'viewer'),
    expired: await create('--role', 'owner', '--expires-at', '2001-01-01T00:00:00Z'),
  }
  server = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: remote.dataDir, ...LOOPBACK }))
})
after(async () => {
  await server.stop()
  for (const cli of [local, remote]) cli.dispose()
})

const through = (key: string) => ({ LATCHKEY_SERVER: server.url, LATCHKEY_KEY: key })

/** `$name` is what an earlier command has made; `< $name` is on standard input. */
const TABLE: readonly (readonly [name: string | null, line: string])[] = [
  [null, 'whoami --account $account'],
  ['berlin', 'sub-account create --account $account --name Berlin --email b@x.example --company-name B'],
  [null, 'sub-account get $berlin'],
  [null, 'sub-account set $berlin --policy {"rate":{"limit":5,"seconds":60}} --metadata {"plan":"gold"}'],
  [null, 'sub-account suspend $berlin'],
  [null, 'sub-account resume $berlin'],
  [null, 'sub-account list --account $account --search berlin'],
  [null, 'sub-account list --account $account --limit 1 --page 2'],
  ['ci', 'token create --sub-account $berlin --name CI --expires-at 2990-01-01T00:00:00Z'],
  ['old', 'token create --sub-account $berlin --name Old --status inactive'],
  [null, 'token create --sub-account $berlin --name CI'],
  [null, 'token get $ci'],
  [null, 'token get $ci --show-credential'],
  [null, 'token set $ci --tag red --policy {"scopes":["orders:read"]} --metadata {"a":1}'],
  [null, 'token set $ci'],
  [null, 'token recent $ci'],
  [null, 'token disable $ci'],
  [null, 'token enable $ci'],
  [null, 'token list --account $account'],
  [null, 'token list --account $account --sort name --limit 1'],
  [null, 'token list --account $account --sort -name --status active'],
  [null, 'token list --account $account --sort colour'],
  [null, 'token list --account $account --sub-account $berlin --status inactive --search OL'],
  [null, 'token list --account $account --effective-status active --tag red --used never'],
  [null, 'token list --account $account --created-from 2020-01-01T00:00:00Z --created-before 2980-01-01T00:00:00Z'],
  [null, 'token list --account $account --expires-from 2980-01-01T00:00:00Z --expires-before 2999-01-01T00:00:00Z'],
  [null, 'token list --account $account --idle-days 90'],
  [null, 'token list --account $account --suspended-days 30'],
  [null, 'token list --account $account --limit 101'],
  [null, 'explain $ci --scope orders:write --scope orders:read'],
  [null, 'explain $ci --scope orders:write --address 192.0.2.1'],
  [null, 'explain $ci --address nowhere'],
  [null, 'verify --scope orders:read < $ci.token'],
  [null, 'verify --scope orders:write < $ci.token'],
  [null, 'verify < $old.token'],
  [null, 'token usage $old --before 2020-01-01T00:00:00Z'],
  [null, 'token usage $old --per week'],
  ['rotated', 'token rotate $ci --overlap 1h'],
  [null, 'verify --scope orders:read < $rotated.token'],
  [null, 'leak - --dry-run --account $account < $rotated.token'],
  [null, 'leak - --account $account < $rotated.token'],
  [null, 'leak - --account $account < $ci.token'],
  [null, 'leak no/such/file --account $account'],
  [null, 'token delete $old'],
  [null, 'token bulk disable --account $account --tag red --dry-run'],
  [null, 'token bulk disable --account $account --tag red --expected-total 7'],
  [null, 'token bulk disable --account $account --ids $ci --dry-run'],
  ['bulk', 'token bulk disable --account $account --search C --expected-total 1 --reason leaver'],
  [null, 'token bulk get $bulk'],
  [null, 'token bulk undo $bulk'],
  [null, 'token bulk undo $bulk'],
  [null, 'token bulk wait $bulk'],
  [null, 'token bulk enable --account $account --all'],
  [null, 'token bulk expire --account $account --idle-days 90 --suspended-days 30'],
  [null, 'token bulk delete --account $account --status inactive --used never --tag none'],
  [null, 'token bulk delete --account $account --status off'],
  [null, 'token bulk list --account $account'],
  ['viewer', 'key create --account $account --name Support --role viewer --sub-account $berlin'],
  [null, 'key revoke $viewer'],
  [null, 'key list --account $account'],
  [null, 'verifier list --account $account'],
  [null, 'verifier evict vfr_none'],
  ['hook', 'webhook create --account $account --url http://127.0.0.1:2/hook --event account.rename'],
  [null, 'webhook create --account $account --url http://10.0.0.1/'],
  [null, 'webhook update $hook --order none --event account.*'],
  [null, 'webhook update $hook --all-events --status inactive'],
  [null, 'webhook update $hook'],
  [null, 'webhook rotate $hook'],
  [null, 'webhook test $hook'],
  [null, 'webhook list --account $account'],
  [null, 'webhook deliveries $hook'],
  [null, 'webhook redeliver $hook.none'],
  [null, 'webhook skip $hook.none'],
  [null, 'webhook delete $hook'],
  [null, 'history list $account'],
  [null, 'history list $ci --action token.rotate'],
  [null, 'history list $account --action token.paint'],
]

type Aliases = Map<string, string>

/** Runs the table, and returns what each line has printed, without what two runs cannot have in common. */
async function runTable(run: (input: string[], args: string[]) => Promise<Ran>, aliases: Aliases): Promise<string[][]> {
  const printed: string[][] = []
  for (const [name, line] of TABLE) {
    const [command = '', input] = line.split(' < ')
    const fill = (word: string) => word.replace(/\$([\w.]+)/, (_, place) => aliases.get(place) ?? `no ${place}`)
    const args = command.split(' ').map(fill)
    const ran = await run(input === undefined ? [] : [fill(input)], [...args, '--json'])
    const document = ran.stdout === '' ? undefined : JSON.parse(ran.stdout)
    if (name !== null) {
      const { _id, token } = document
      aliases.set(name, _id).set(`${name}.token`, token).set(`${name}.none`, `${_id}_999`)
    }
    const people = /^token (list|get)[^-]*(--account \S+)?$/.test(command) ? (await run([], args)).stdout : ''
    const texts = [ran.stdout, ran.stderr, people].map((text) => normal(text, aliases))
    printed.push([line, ...texts, String(ran.code)])
  }
  return printed
}

/** Ids become their names in the table, or stay distinct by the order in which they were first seen. */
function normal(text: string, aliases: Aliases): string {
  const key = `"${aliases.get('key')}":"Test"`
  return text
    .replace(`,${key}`, '')
    .replace(`${key},`, '')
    .replace(/"by":"(operator|key_\w+)","byName":(null|"Test")/g, '"by":"…"')
    .replace(/"requestId":("[^"]*"|null),"address":("[^"]*"|null)/g, '"from":"…"')
    .replace(/"caller":\{[^}]*\}/, '"caller":"…"')
    .replace(/"lastUsedAt":("[^"]*"|null)/g, '"lastUsedAt":"…"')
    .replace(/"resetSeconds":\d+/g, '"resetSeconds":0')
    .replace(/lk_(tok|key)_(…\w{4}|\w{49})/g, 'lk_$1_')
    .replace(/20\d\d-\d\d-\d\dT[\d:.]+Z/g, 'now')
    .replace(/whsec_[\w+/]+=/g, 'whsec_')
    .replace(/(acc|sub|tok|key|whk|blk)_[0-9a-f]{28}/g, (id) => {
      if (!aliases.has(id)) aliases.set(id, `${id.slice(0, 3)}#${aliases.size}`)
      return aliases.get(id) ?? ''
    })
}

test('the whole table of commands prints the same on the local store and through a server', async () => {
  const own = await local.estate()
  const aliasesOf = ({ account, key }: typeof own): Aliases =>
    new Map([
      ['account', account._id],
      ['key', key._id],
    ])
  const here = await runTable((input, args) => local.runAs({ input, env: LOOPBACK }, ...args), aliasesOf(own))
  const env = through(mine.key.key)
  const there = await runTable((input, args) => remote.runAs({ input, env }, ...args), aliasesOf(mine))
  for (const [i, line] of here.entries()) assert.deepEqual(there[i], line)
  const codes = new Set(here.map((line) => line.at(-1)))
  assert.deepEqual(codes, new Set(['0', '1']))
})

test('a list as CSV is the same through a server and on its store, and has everything that the filters match', async () => {
  const env = through(mine.key.key)
  const lines = async (...args: string[]) => {
    const account = args[0] === 'history' ? [] : ['--account', mine.account._id]
    const there = await remote.runWith(env, ...args, '--csv')
    const here = await remote.run(...args, ...account, '--csv')
    assert.deepEqual([there.code, there.stderr], [0, ''])
    const [header = '', ...rows] = there.stdout.trimEnd().split('\r\n')
    // Without filters there are keys and tokens that were used: the server notes the last use now and then.
    if (args.length > 2) assert.equal(here.stdout, there.stdout)
    return { header, rows }
  }
  for (const list of ['token', 'sub-account', 'key'])
    assert.match((await lines(list, 'list')).header, /^\ufeff_id,name,/)
  for (let i = 0; i < 3; i++) {
    await remote.runWith(env, 'token', 'create', '--sub-account', mine.subAccount._id, '--name', `listed ${i}`)
  }
  assert.equal(
    (await lines('token', 'list', '--search', 'LISTED', '--sub-account', mine.subAccount._id)).rows.length,
    3,
  )
  const history = await lines('history', 'list', mine.account._id, '--action', 'sub-account.create')
  assert.equal(
    history.rows.every((row) => row.includes(',sub-account.create,')),
    true,
  )
  const [id = ''] = (await lines('token', 'list', '--search', 'listed 1')).rows[0]?.split(',') ?? []
  const ofToken = await remote.runWith(env, 'history', 'list', id, '--csv')
  assert.match(ofToken.stdout, /\r\n[^\r]*,token.create,[^\r]*\r\n$/)
  for (const [code, args] of [
    [2, ['token', 'list', '--csv', '--json']],
    [1, ['token', 'list', '--csv', '--limit', '5']],
    [1, ['history', 'list', 'tok_x', '--csv']],
    [2, ['key', 'list', '--all', '--csv']],
  ] as const) {
    const refused = await remote.runWith(env, ...args)
    assert.deepEqual([refused.code, refused.stdout], [code, ''], refused.stderr)
  }
  const unreachable = await remote.runWith({ ...env, LATCHKEY_SERVER: 'http://127.0.0.1:1' }, 'token', 'list', '--csv')
  assert.equal(unreachable.code, 3)
})

test('the table has every command that can ask a server', () => {
  const streams = { stdout: process.stdout, stderr: process.stderr }
  const names = choicesIn(buildProgram(streams))
    .filter(({ command }) => command.commands.length === 0 && !isLocalOnly(command))
    .map(({ at }) => at.trim())
    .filter((name) => !/^(context|completion)\b/.test(name))
  assert.ok(names.length > 15)
  assert.deepEqual(
    names.filter((name) => !TABLE.some(([, line]) => line.startsWith(name))),
    [],
  )
})

test('exit codes: 1 refused or not found, 2 wrong usage, 3 unreachable, 4 not authenticated or not allowed', async () => {
  const key = (key: keyof typeof keys) => through(keys[key])
  const sub = theirs.subAccount._id
  const unused = 'http://127.0.0.1:1'
  for (const [expected, env, line, message] of [
    [0, key('viewer'), 'whoami', ''],
    [1, key('owner'), 'token get tok_x', 'token not found'],
    [1, key('owner'), `sub-account get ${mine.subAccount._id}`, 'Sub account '],
    [1, key('owner'), 'token list --limit 101', 'limit must'],
    [1, key('owner'), `token list --account ${mine.account._id}`, ` ${theirs.account._id}, not of ${mine.account._id}`],
    [1, key('owner'), `history list ${mine.account._id}`, ` ${theirs.account._id}, not of ${mine.account._id}`],
    [2, key('owner'), 'token paint', 'unknown command'],
    [2, key('owner'), 'token list --colour red', 'unknown option'],
    [2, key('owner'), 'token bulk delete', 'or --all'],
    [2, key('owner'), 'token bulk delete --all --tag red', '--all excludes filters'],
    [2, key('owner'), 'token bulk delete --all --expected-total some', 'whole number'],
    [4, key('viewer'), 'token bulk disable --all', 'not allowed to'],
    [2, key('owner'), `token create --sub-account ${sub} --name T --credential x`, 'the local store'],
    [2, key('owner'), 'doctor', 'but LATCHKEY_SERVER chooses'],
    [2, key('owner'), 'history verify', 'history verify works'],
    [2, {}, 'doctor --context nowhere', 'but --context chooses'],
    [2, {}, 'token list --context nowhere', 'no context nowhere'],
    [2, { LATCHKEY_KEY: keys.owner }, 'token list', 'LATCHKEY_KEY is set, but LATCHKEY_SERVER is not'],
    [2, {}, 'token list', 'Name the account: --account ID'],
    [2, {}, 'verify', 'no credential on'],
    [2, {}, `account set ${theirs.account._id} --credentials once`, 'confirm it with --yes'],
    [3, { LATCHKEY_SERVER: unused, LATCHKEY_KEY: keys.owner }, 'whoami', `${unused}: `],
    [4, { LATCHKEY_SERVER: server.url }, 'whoami', '. Set LATCHKEY_KEY to'],
    [4, key('expired'), 'token list', `${server.url}: Token expired`],
    [4, through(`${keys.owner}x`), 'token list', 'Invalid token'],
    [4, key('viewer'), `token create --sub-account ${sub} --name T`, 'to change tokens'],
    [4, key('viewer'), 'key list', 'manage account keys'],
  ] as const) {
    const { code, stdout, stderr } = await remote.runWith(env, ...line.split(' '))
    assert.deepEqual([line, code], [line, expected])
    assert.ok(stderr.includes(message), stderr)
    if (code !== 0) assert.equal(stdout, '')
    for (const secret of Object.values(keys)) assert.ok(!stderr.includes(secret))
  }
})

test('a server needs no account, and has the account of the key', async () => {
  const env = through(keys.owner)
  const { json } = await remote.runWith(env, 'sub-account', 'list', '--json')
  assert.deepEqual([json.total, json.items[0]._id], [1, theirs.subAccount._id])
  assert.equal((await remote.runWith(env, 'history', 'list', '--json')).json.items.at(-1).subject, theirs.account._id)
  const whoami = (await remote.runWith(env, 'whoami', '--json')).json
  assert.deepEqual([whoami.account._id, whoami.caller.kind], [theirs.account._id, 'key'])
})

test('the operator of the local store has no account until one is named', async () => {
  const { account, caller, permissions } = (await local.run('whoami', '--json')).json
  assert.deepEqual([account, caller.kind, permissions.role], [null, 'operator', 'owner'])
})

test('a text that is larger than a request is sent in pieces, and what stands where it is cut is found', async () => {
  const make = (name: string) =>
    remote.run('token', 'create', '--sub-account', theirs.subAccount._id, '--name', name, '--json')
  const made = [(await make('At the cut')).json, (await make('Later')).json]
  const text = Buffer.alloc(3 * 1_048_576, 'a line of a log\n')
  const places = [1_048_576 - 20, 2_500_000]
  for (const [index, { token }] of made.entries()) Buffer.from(` ${token} `).copy(text, places[index])
  const leak = () => remote.runAs({ input: [text], env: through(keys.owner) }, 'leak', '-', '--json')
  const first = (await leak()).json
  assert.deepEqual(
    first.found.map(({ _id, status, wasActive }: Found) => [_id, status, wasActive]),
    [
      [made[0]._id, 'inactive', true],
      [made[1]._id, 'inactive', true],
    ],
  )
  assert.equal(first.disabled, 2)
  assert.equal((await leak()).json.disabled, 0)
  const viewer = await remote.runAs({ input: [text], env: through(keys.viewer) }, 'leak', '-', '--json')
  assert.equal(viewer.code, 4)
})

interface Found {
  readonly _id: string
  readonly status: string
  readonly wasActive: boolean
}
