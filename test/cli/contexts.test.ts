// Contexts: which server a command asks, and how their keys are kept.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { type RunningServer, startServer } from '../../src/serve/serving.ts'
import { Cli } from '../support/cli.ts'

const [cli, first, second] = [new Cli(), new Cli(), new Cli()]
const servers: RunningServer[] = []
const keys: string[] = []
const accounts: string[] = []

before(async () => {
  for (const each of [first, second]) {
    const { account, key } = await each.estate()
    accounts.push(account._id)
    keys.push(key.key)
    servers.push(await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: each.dataDir })))
  }
  await cli.estate()
})
after(async () => {
  for (const server of servers) await server.stop()
  for (const each of [cli, first, second]) each.dispose()
})
afterEach(() => rmSync(cli.configDir, { recursive: true, force: true }))

const add = (name: string, n: number, ...more: string[]) =>
  cli.runGiven([`${keys[n]}\n`], 'context', 'add', name, '--server', servers[n]?.url ?? '', '--key-stdin', ...more)
/** The account of the server that is asked; null for the local store. */
const asked = async (env: Readonly<Record<string, string>>, ...args: string[]) =>
  (await cli.runWith(env, ...args, 'whoami', '--json')).json.account?._id ?? null

test('--context is asked before LATCHKEY_SERVER, that before the context in use, and the local store without any', async () => {
  const [one, two] = [{ LATCHKEY_SERVER: servers[0]?.url ?? '', LATCHKEY_KEY: keys[0] ?? '' }, accounts[1]]
  assert.equal(await asked({}), null)
  await add('two', 1)
  await cli.run('context', 'use', 'local')
  assert.equal(await asked({}), null)
  assert.equal(await asked({}, '--context', 'two'), two)
  assert.equal((await cli.run('context', 'use', 'two')).code, 0)
  assert.equal(await asked({}), two)
  assert.equal(await asked(one), accounts[0])
  assert.equal(await asked(one, '--context', 'two'), two)
  assert.equal(await asked(one, '--context', 'local'), null)
  assert.equal(await asked({}, '--context', 'local'), null)
  assert.equal((await cli.run('context', 'use', 'local')).code, 0)
  assert.equal(await asked({}), null)
})

test('the first context that is added is the one in use, and another only when that is asked for', async () => {
  assert.equal((await add('one', 0, '--json')).json.inUse, true)
  assert.equal((await add('two', 1, '--json')).json.inUse, false)
  assert.equal(await asked({}), accounts[0])
  assert.equal((await cli.run('context', 'use', 'local')).code, 0)
  await add('two', 1)
  assert.equal(await asked({}), null)
})

test('a context that is removed is no longer in use', async () => {
  await add('one', 0)
  await cli.run('context', 'use', 'one')
  assert.equal((await cli.run('context', 'remove', 'one')).code, 0)
  assert.equal(await asked({}), null)
  assert.equal((await cli.run('context', 'list', '--json')).json.total, 0)
})

test('commands of the local store do not look at the context in use', async () => {
  await add('one', 0)
  await cli.run('context', 'use', 'one')
  const { code, json } = await cli.run('account', 'list', '--json')
  assert.equal(code, 0)
  assert.ok(!json.items.some(({ _id }: { _id: string }) => _id === accounts[0]))
  assert.equal((await cli.run('doctor', '--context', 'local')).code, 0)
})

describe('keys are kept for their owner only', () => {
  test('in one file of mode 0600, in a folder of mode 0700, and no temporary file is left', async () => {
    await add('one', 0)
    await add('two', 1)
    assert.deepEqual(readdirSync(cli.configDir), ['contexts.json'])
    const modeOf = (path: string) => statSync(path).mode & 0o777
    assert.deepEqual([modeOf(cli.configDir), modeOf(join(cli.configDir, 'contexts.json'))], [0o700, 0o600])
  })

  test('and no command prints one: at most its end', async () => {
    const key = keys[0] ?? ''
    const printed = [await add('one', 0), await add('one', 0, '--json')]
    for (const line of [
      'context use one',
      'context list',
      'context list --json',
      'whoami',
      'token list',
      'key list --json',
    ]) {
      printed.push(await cli.run(...line.split(' ')))
    }
    printed.push(await cli.run('context', 'remove', 'one'))
    for (const { code, stdout, stderr } of printed) {
      assert.equal(code, 0, stderr)
      assert.ok(!(stdout + stderr).includes(key.slice(8)))
    }
    assert.match(printed[3]?.stdout ?? '', new RegExp(`one +http://\\S+ +yes +lk_key_…${key.slice(-4)}`))
  })

  test('what is no account key, or no address, is refused and not repeated', async () => {
    const given = (input: string, server: string, name = 'x') =>
      cli.runGiven([input], 'context', 'add', name, '--server', server, '--key-stdin')
    const url = 'https://tokens.example.com'
    for (const { code, stdout, stderr } of [
      await given('', url),
      await given('two s3cret', url),
      await given('lk_key_s3cret', url),
      await given(keys[0] ?? '', 'https://user:s3cret@host.example'),
      await given(keys[0] ?? '', 'tokens.example.com/s3cret'),
      await given(keys[0] ?? '', url, 'local'),
      await given(keys[0] ?? '', url, '../up'),
      await cli.run('context', 'add', 'x', '--server', url),
    ]) {
      assert.deepEqual([code, stdout], [2, ''])
      assert.ok(!stderr.includes('s3cret'), stderr)
    }
  })

  test('a file that holds no contexts is named, and its content is not repeated', async () => {
    await add('one', 0)
    for (const text of [
      '{"key":"s3cret"',
      '[]',
      '{"inUse":5,"contexts":[]}',
      '{"inUse":null,"contexts":[{"key":"s3cret"}]}',
    ]) {
      writeFileSync(join(cli.configDir, 'contexts.json'), text)
      const { code, stderr } = await cli.run('token', 'list')
      assert.equal(code, 1)
      assert.match(stderr, /contexts\.json cannot be read/)
      assert.ok(!stderr.includes('s3cret'))
    }
  })

  test('without https:// there is a warning, except for this machine', async () => {
    const add = (server: string) =>
      cli.runGiven([keys[0] ?? ''], 'context', 'add', 'x', '--server', server, '--key-stdin')
    for (const server of [
      'http://tokens.example.com',
      'http://localhost.evil.example',
      'http://127.evil.example',
      'HTTP://tokens.example.com',
    ]) {
      assert.match((await add(server)).stderr, /^Warning: without https:/)
    }
    for (const server of ['http://localhost:3000', 'http://127.0.0.1:3000/', 'https://tokens.example.com/latchkey/']) {
      assert.equal((await add(server)).stderr, '')
    }
    assert.match(
      readFileSync(join(cli.configDir, 'contexts.json'), 'utf8'),
      /"https:\/\/tokens\.example\.com\/latchkey"/,
    )
  })
})

test('commands and the sidecar warn where they would send a key over plain HTTP to another machine', async () => {
  // Reaches this machine, but the rule for plain HTTP does not count it as such.
  const server = 'http://0.0.0.0:1'
  const warning = new RegExp(`Warning: .*https:// .*${server}`)
  const asked = await cli.runWith({ LATCHKEY_SERVER: server, LATCHKEY_KEY: keys[0] ?? '' }, 'whoami')
  assert.equal(asked.code, 3)
  assert.match(asked.stderr, warning)
  const keyFile = join(cli.dataDir, 'verifier.key')
  writeFileSync(keyFile, keys[0] ?? '')
  const sidecar = ['sidecar', '--key-file', keyFile, '--listen', '127.0.0.1:0', '--server']
  const running = cli.spawn([...sidecar, server])
  await running.says((stderr) => warning.test(stderr))
  running.kill('SIGKILL')
  await running.exited
  assert.equal((await cli.run(...sidecar, 'tokens.example.com')).code, 2)
})

test('a .env file of the folder cannot choose where keys and credentials are sent', async (t) => {
  const [folder, here] = [mkdtempSync(join(tmpdir(), 'latchkey-env-')), process.cwd()]
  t.after(() => {
    process.chdir(here)
    rmSync(folder, { recursive: true })
  })
  process.chdir(folder)
  for (const name of ['LATCHKEY_SERVER', 'LATCHKEY_KEY', 'LATCHKEY_CONFIG_DIR']) {
    writeFileSync('.env', `${name}=http://evil.example\n`)
    const { code, stderr } = await cli.runWith({ LATCHKEY_KEY: keys[0] ?? '' }, 'token', 'list')
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`^latchkey: ${name} .*\\.env`))
  }
})
