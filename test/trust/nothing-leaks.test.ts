// Secrets put everywhere a secret can be put, and then searched for everywhere it must not be: the log of a real server
// at its most talkative, metrics, every refusal, reports, copies, and every file of the store while it is being served.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Cli, COVERED } from '../support/cli.ts'
import { type Ask, bearer, closeConnections, type Heard, send } from '../support/http.ts'
import { Raw } from '../support/raw.ts'
import { assertTellsNothing } from '../support/traces.ts'

const LIST = '/api/v1/apiClient/token'
const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
const JSON_TYPE = ['content-type', 'application/json'] as const

/** A secret as it is, and as it would look after the usual turns. */
function formsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret)
  const texts = [
    secret,
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    encodeURIComponent(secret),
    bytes.toString('utf16le'),
  ]
  return texts.map((text) => Buffer.from(text))
}

describe('nothing leaks', () => {
  const cli = new Cli()
  const copy = mkdtempSync(join(tmpdir(), 'latchkey-leak-'))
  /** By what they are. */
  const secrets = new Map<string, string>()
  /** Where none of them may be. */
  const outputs = new Map<string, Buffer>()
  /** What was allowed to hold one. */
  const owned: string[] = []

  before(async () => {
    const { account, subAccount } = await cli.estate()
    const made = async (...args: string[]) => {
      const ran = await cli.run(...args, '--json')
      owned.push(ran.stdout)
      return ran.json
    }
    const key = (await made('key', 'create', '--account', account._id)).key
    const former = await made('key', 'create', '--account', account._id, '--expires-at', '2020-01-01T00:00:00Z')
    secrets.set('the account key', key).set('an expired account key', former.key)
    secrets.set('a credential given by hand', 'canary-given-by-hand')
    const create = ['token', 'create', '--sub-account', subAccount._id]
    await made(...create, '--name', 'By hand', '--credential', 'canary-given-by-hand')
    await told('token create again', ...create, '--name', 'Twice', '--credential', 'canary-given-by-hand')
    const file = join(cli.dataDir, '..', 'latchkey-leak.ndjson')
    const line = (name: string, credential: string) =>
      JSON.stringify({ subAccountId: subAccount._id, name, credential })
    secrets.set('an imported credential', 'canary~imported/1').set('a bad import', 'canary imported badly')
    writeFileSync(file, `${line('Imported', 'canary~imported/1')}\n${line('Bad', 'canary imported badly')}\n`)
    await told('import', 'import', file, '--skip-bad')
    rmSync(file)

    const server = cli.spawn(['serve'], { PORT: '0', LOG_LEVEL: 'trace', ...COVERED })
    const url = await server.ready()
    await ask(url, key, subAccount._id)
    // While it is served: the write-ahead log is there, and its index.
    for (const name of readdirSync(cli.dataDir)) outputs.set(`file ${name}`, readFileSync(join(cli.dataDir, name)))
    outputs.set('metrics', Buffer.from((await send(url, { path: '/metrics' })).text))
    for (const command of [
      'doctor',
      'history verify',
      `history list ${account._id}`,
      `key list --account ${account._id}`,
    ]) {
      await told(command, ...command.split(' '))
      await told(`${command} --json`, ...command.split(' '), '--json')
    }
    const backup = join(copy, 'backup.lkb')
    await told('backup', 'backup', backup)
    outputs.set('the backup', readFileSync(backup))
    server.kill('SIGTERM')
    await server.exited
    outputs.set('standard output', Buffer.from(server.stdout)).set('standard error', Buffer.from(server.stderr))
    await told('copy', 'copy', '--to', join(copy, 'copied'))
    for (const name of readdirSync(join(copy, 'copied')))
      outputs.set(`copied file ${name}`, readFileSync(join(copy, 'copied', name)))
    const masterKey = readFileSync(join(cli.dataDir, 'master.key'), 'utf8').trim()
    secrets.set('the master key', masterKey)
    secrets.set('the master key, as bytes', Buffer.from(masterKey, 'base64').toString('latin1'))
  })
  after(() => {
    closeConnections()
    cli.dispose()
    rmSync(copy, { recursive: true, force: true })
  })

  async function told(name: string, ...args: string[]): Promise<void> {
    const { stdout, stderr } = await cli.run(...args)
    outputs.set(`latchkey ${name}`, Buffer.from(stdout + stderr))
  }

  /** Uses credentials rightly and wrongly, and puts them where they do not belong. */
  async function ask(url: string, key: string, subAccountId: string): Promise<void> {
    const mine = (question: Ask) => send(url, { ...question, headers: [bearer(key), ...(question.headers ?? [])] })
    const keep = (name: string, heard: Heard) => {
      assert.ok(heard.status >= 400, `${name}: ${heard.status}`)
      outputs.set(`the answer to ${name}`, Buffer.from(heard.text + JSON.stringify(heard.headers)))
    }
    const created = await mine({ method: 'POST', path: LIST, body: { subAccountId, name: 'Canary' } })
    const { _id, token } = created.json.data
    const rotated = await mine({ method: 'POST', path: `${LIST}/${_id}/rotate`, body: { overlapSeconds: 60 } })
    secrets.set('a rotated credential', token).set('its successor', rotated.json.data.token)
    owned.push(created.text, rotated.text, (await mine({ path: LIST })).text)
    for (const [what, secret] of [...secrets]) {
      await send(url, { path: '/api/v1/verify', headers: [bearer(secret)] })
      const inform = {
        method: 'POST',
        path: '/oauth2/introspect',
        headers: [FORM],
        body: `token=${encodeURIComponent(secret)}`,
      }
      await mine(inform)
      const path = encodeURIComponent(secret)
      const put = { method: 'PUT', path: `${LIST}/${path}` }
      keep(`a token by its credential: ${what}`, await mine({ path: `${LIST}/${path}` }))
      keep(`a sub-account by it: ${what}`, await mine({ path: `${LIST}?subAccountId=${path}` }))
      keep(`a status of it: ${what}`, await mine({ path: `${LIST}?status=${path}` }))
      keep(`a route of it: ${what}`, await mine({ path: `/api/v1/${path}` }))
      keep(`a page nowhere: ${what}`, await send(url, { path: `/${path}/%zz` }))
      keep(`a body broken by it: ${what}`, await mine({ ...put, headers: [JSON_TYPE], body: `{"name": ${secret}` }))
      keep(`fields of it: ${what}`, await mine({ ...put, body: { status: secret, [secret]: secret } }))
      const patch = { method: 'PATCH', path: `${LIST}/${_id}` }
      keep(`a status of it in a patch: ${what}`, await mine({ ...patch, body: { status: secret } }))
      keep(`an address of it: ${what}`, await mine({ ...patch, body: { policy: { addresses: [secret] } } }))
      keep(`a scope of it: ${what}`, await mine({ ...patch, body: { policy: { scopes: [`${secret} `] } } }))
      keep(`a rate of it: ${what}`, await mine({ ...patch, body: { policy: { rate: { limit: secret } } } }))
      keep(`a tag with it: ${what}`, await mine({ ...patch, body: { tags: [secret.padEnd(60, 'x')] } }))
      keep(`a list by such a tag: ${what}`, await mine({ path: `${LIST}?tag=${path.padEnd(60, 'x')}` }))
      keep(`an explanation for it: ${what}`, await mine({ path: `${LIST}/${path}/explain?address=${path}` }))
      keep(`a scope that is none: ${what}`, await mine({ path: `${LIST}/${_id}/explain?scope=${path}%20%20` }))
      keep(`a type of it: ${what}`, await mine({ ...put, headers: [['content-type', path]], body: secret }))
      keep(`a form with it twice: ${what}`, await mine({ ...inform, body: `token=${path}&token=${path}` }))
      // Not x-request-id: what is sent there is an id, and kept, unless it looks like one of our credentials.
      const strays = ['user-agent', 'referer', 'cookie', 'x-api-key', 'x-forwarded-for', 'if-match']
      keep(
        `headers of it: ${what}`,
        await send(url, { path: LIST, headers: [bearer(`${path}x`), ...strays.map((name) => [name, path] as const)] }),
      )
      const raw = await Raw.open(url)
      raw.send(`GET /${path} HTTP/1.1\r\nHost: ${path}\r\nContent-Length: ${path}\r\n\r\n`)
      await raw.ended
      outputs.set(`the answer to what is not HTTP: ${what}`, Buffer.from(JSON.stringify(raw.answers())))
      raw.close()
    }
  }

  test('no secret in any form is where it must not be', () => {
    assert.ok(secrets.size >= 8)
    assert.ok(outputs.size > 60, String(outputs.size))
    for (const wanted of [
      'file latchkey.db',
      'file latchkey.db-wal',
      'file latchkey.db-shm',
      'metrics',
      'latchkey doctor',
      'the backup',
    ])
      assert.ok((outputs.get(wanted)?.length ?? 0) > 0, wanted)
    const found = [...outputs].flatMap(([output, bytes]) =>
      [...secrets]
        .filter(([what]) => !(output.endsWith('master.key') && what.startsWith('the master key')))
        .filter(([, secret]) => formsOf(secret).some((form) => bytes.includes(form)))
        .map(([what]) => `${what} is in ${output}`),
    )
    assert.deepEqual(found, [])
  })

  test('the search finds what is there: credentials where they are asked for, names in the store and the copy', () => {
    for (const [what, secret] of secrets) {
      if (/master|expired|bad/.test(what)) continue
      assert.ok(
        owned.some((text) => text.includes(secret)),
        what,
      )
    }
    const inPlainSight = formsOf('By hand')
    for (const output of ['file latchkey.db', 'copied file latchkey.db', 'the backup']) {
      const files = [...outputs].filter(([name]) => name.startsWith(output))
      assert.ok(
        files.some(([, bytes]) => inPlainSight.some((form) => bytes.includes(form))),
        output,
      )
    }
  })

  test('the log was talkative, and names what was asked by its route', () => {
    const log = outputs.get('standard output')?.toString() ?? ''
    assert.ok(log.split('\n').length > 80)
    assert.match(log, /"route":"\/api\/v1\/apiClient\/token\/:id"/)
  })

  test('every refusal is in the words of the contract, its stack a constant', () => {
    const refusals = [...outputs].filter(([output]) => output.startsWith('the answer to'))
    assert.ok(refusals.length > 50)
    for (const [output, bytes] of refusals) assertTellsNothing(bytes.toString(), output)
  })

  const traces = [
    'Error: x\\n    at judge (/opt/latchkey/src/tokens/trust/verdict.ts:30:9)',
    'SELECT * FROM tokens WHERE id = $1',
    'UNIQUE constraint failed: tokens.name',
    'node:internal/process/task_queues',
  ]
  for (const trace of traces) {
    test(`the search for traces finds one: ${trace.slice(0, 30)}`, () => {
      assert.throws(() => assertTellsNothing(`{"error":{"message":"${trace}"}}`, 'control'))
    })
  }
})
