// `latchkey master-key rotate`, and the keys that a store is given.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { findKeeper, openKeyRing } from '../../src/master-key.ts'
import { lockAlone } from '../../src/storage/sqlite/files/lock.ts'
import { Cli } from '../support/cli.ts'

const started: Cli[] = []
after(() => started.forEach((cli) => void cli.dispose()))

const newKey = () => randomBytes(32).toString('base64')
const idOf = (masterKey: string) => openKeyRing(readConfig({ LATCHKEY_MASTER_KEY: masterKey })).first.id

async function withToken() {
  const cli = new Cli()
  started.push(cli)
  const { subAccount } = await cli.estate()
  const create = ['token', 'create', '--sub-account', subAccount._id, '--name', 'T', '--json']
  const { _id, token } = (await cli.run(...create)).json
  const file = join(cli.dataDir, 'master.key')
  const opens = async () => {
    const { json } = await cli.run('token', 'get', _id, '--show-credential', '--json')
    return json?.token === token
  }
  return { cli, id: _id, file, opens, read: () => readFileSync(file, 'utf8').trim().split('\n') }
}

/** Runs with variables set that only this run sees. */
async function withEnv<Result>(env: Readonly<Record<string, string>>, work: () => Promise<Result>): Promise<Result> {
  Object.assign(process.env, env)
  try {
    return await work()
  } finally {
    for (const name of Object.keys(env)) delete process.env[name]
  }
}

describe('the key that the service has made itself', () => {
  test('is replaced by another one, in a file that is still for its owner only, and the report names both', async () => {
    const { cli, file, opens, read } = await withToken()
    const [before = ''] = read()
    const { json } = await cli.run('master-key', 'rotate', '--json')
    const [now = '', ...others] = read()
    const [retired, old] = [idOf(before), `${file}.${idOf(before)}.old`]
    const sums = { tokens: 1, resealed: 1, resumed: false }
    assert.deepEqual(json, { masterKey: idOf(now), retired: [retired], keptIn: [old], ...sums })
    assert.notEqual(now, before)
    assert.deepEqual(others, [])
    assert.equal(statSync(file).mode & 0o777, 0o600)
    assert.deepEqual(
      readdirSync(cli.dataDir).filter((name) => name.includes('.key')),
      ['master.key', basename(old)],
    )
    assert.equal(readFileSync(old, 'utf8').trim(), before)
    assert.equal(statSync(old).mode & 0o777, 0o600)
    assert.ok(await opens())
  })

  test('still opens a backup that was made before it was replaced', async () => {
    const { cli } = await withToken()
    const backup = join(cli.dataDir, 'before.lkb')
    assert.equal((await cli.run('backup', backup)).code, 0)
    const [old = ''] = (await cli.run('master-key', 'rotate', '--json')).json.keptIn
    const folder = new Cli()
    started.push(folder)
    const restored = await withEnv({ LATCHKEY_MASTER_KEY_FILE: old }, () =>
      folder.run('restore', backup, '--accept-revocation-loss', '--json'),
    )
    assert.equal(restored.code, 0, restored.stderr)
  })

  describe('still opens a backup after which a token was rotated too,', () => {
    async function rotatedSince() {
      const { cli, id } = await withToken()
      const backup = join(cli.dataDir, 'before.lkb')
      await cli.run('backup', backup)
      const [old = ''] = (await cli.run('master-key', 'rotate', '--json')).json.keptIn
      const { token } = (await cli.run('token', 'rotate', id, '--json')).json
      const shown = async () => (await cli.run('token', 'get', id, '--show-credential', '--json')).json.token
      const find = async () => (await cli.runGiven([token], 'find', '--json')).json.found
      return { cli, id, token, old, shown, find, restore: () => cli.run('restore', backup, '--replace', '--json') }
    }

    test('alone: the credential works, is not shown, and can be rotated', async () => {
      const { cli, id, old, shown, find, restore } = await rotatedSince()
      await withEnv({ LATCHKEY_MASTER_KEY_FILE: old }, async () => {
        assert.deepEqual((await restore()).json.unreadable, [id])
        assert.deepEqual([await shown(), (await find())[0].accepted], ['', true])
        const doctor = await cli.run('doctor')
        assert.equal(doctor.code, 1)
        assert.match(doctor.stdout, new RegExp(`${id} is sealed .*[0-9a-f]{8}, .*: give that key`))
        assert.doesNotMatch(doctor.stdout, /outside Latchkey/)
        assert.match((await cli.run('token', 'rotate', id, '--json')).json.token, /^lk_/)
        assert.equal((await cli.run('doctor')).code, 0)
      })
    })

    test('beside the present one: the credential is shown, and a rotation puts the present key to use', async () => {
      const { cli, token, old, shown, restore } = await rotatedSince()
      await withEnv({ LATCHKEY_PREVIOUS_MASTER_KEY_FILE: old }, async () => {
        assert.deepEqual((await restore()).json.unreadable, [])
        assert.equal(await shown(), token)
        assert.equal((await cli.run('doctor')).code, 0)
        assert.equal((await cli.run('master-key', 'rotate')).code, 0)
      })
      assert.equal(await shown(), token)
    })
  })

  test('stays in use where its old place is taken by a link or by another file, and nothing there is changed', async () => {
    for (const occupy of [
      (path: string) => symlinkSync(join(path, '..', 'target'), path),
      (path: string) => writeFileSync(path, 'something else'),
    ]) {
      const { cli, file, opens, read } = await withToken()
      const old = `${file}.${idOf(read()[0] ?? '')}.old`
      occupy(old)
      const { code, stderr } = await cli.run('master-key', 'rotate')
      assert.equal(code, 1)
      assert.match(stderr, /\.old is in the/)
      assert.equal(existsSync(join(cli.dataDir, 'target')), false)
      assert.ok(await opens())
      rmSync(old)
      assert.deepEqual((await cli.run('master-key', 'rotate', '--json')).json.keptIn, [old])
    }
  })

  test('is kept also by a run that continues after an interruption between keeping it and taking it out', async () => {
    const { cli, file, read } = await withToken()
    const [before = ''] = read()
    const old = `${file}.${idOf(before)}.old`
    writeFileSync(old, `${before}\n`, { mode: 0o600 })
    assert.deepEqual((await cli.run('master-key', 'rotate', '--json')).json.keptIn, [old])
  })

  test('is named by its id, never shown, and what to do with it is said', async () => {
    const { cli, read } = await withToken()
    const [before = ''] = read()
    const { stdout, stderr } = await cli.run('master-key', 'rotate')
    assert.match(stdout, /^Everything .*[0-9a-f]{8}: 1 tokens, 1 of them .*\.$/m)
    assert.match(stdout, new RegExp(` ${idOf(before)} any more\\. .*\\.old\\.`))
    assert.match(stdout, /earlier backup .*own key/)
    for (const key of [before, ...read()]) assert.ok(!`${stdout}${stderr}`.includes(key))
  })

  test('is made once by a rotation that was interrupted before it put the key to use', async () => {
    const { cli, opens, read } = await withToken()
    findKeeper(readConfig({ LATCHKEY_DATA_DIR: cli.dataDir }))?.make()
    const [made = '', before = ''] = read()
    assert.ok(await opens())
    const { json } = await cli.run('master-key', 'rotate', '--json')
    assert.deepEqual([json.masterKey, json.retired], [idOf(made), [idOf(before)]])
    assert.deepEqual(read(), [made])
    assert.ok(await opens())
  })

  test('is not rotated by two at once', async () => {
    const { cli, opens, read } = await withToken()
    const before = read()
    const release = lockAlone(join(cli.dataDir, 'rotation.lock'))
    const { code, stderr } = await cli.run('master-key', 'rotate', '--json')
    assert.equal(code, 1)
    assert.match(stderr, /process is rotating/)
    assert.deepEqual(read(), before)
    release?.()
    assert.equal((await cli.run('master-key', 'rotate', '--json')).code, 0)
    assert.ok(await opens())
  })
})

describe('a key from the environment', () => {
  test('is not replaced: the command says what to do, in which order, and changes nothing', async () => {
    const { cli, opens, read } = await withToken()
    const [key = ''] = read()
    const { code, stderr } = await withEnv({ LATCHKEY_MASTER_KEY: key }, () =>
      cli.run('master-key', 'rotate', '--json'),
    )
    assert.equal(code, 1)
    const steps = ['openssl rand', 'both keys', 'LATCHKEY_PREVIOUS_MASTER_KEY', 'rotate again', 'Remove the old']
    const positions = steps.map((step) => stderr.indexOf(step))
    assert.ok(positions.every((position) => position >= 0))
    assert.deepEqual(
      positions,
      positions.toSorted((a, b) => a - b),
    )
    assert.deepEqual(read(), [key])
    assert.ok(await opens())
  })

  test('gives way to a new one that is given beside it, wherever the two come from', async () => {
    const { cli, opens, read } = await withToken()
    const [first = ''] = read()
    const [second, third] = [newKey(), newKey()]
    const file = join(cli.dataDir, 'given')
    writeFileSync(file, `${third}\n\n  ${second}\n`)
    const previous = join(cli.dataDir, 'previous')
    writeFileSync(previous, `${first}\n`)
    const one = { LATCHKEY_MASTER_KEY: second, LATCHKEY_PREVIOUS_MASTER_KEY: first }
    const other = { LATCHKEY_MASTER_KEY_FILE: file, LATCHKEY_PREVIOUS_MASTER_KEY_FILE: previous }
    await withEnv(one, async () => {
      assert.ok(await opens(), 'the new key is there, and the old one still seals')
      const { json } = await cli.run('master-key', 'rotate', '--json')
      assert.deepEqual([json.masterKey, json.retired], [idOf(second), [idOf(first)]])
      const again = await cli.run('master-key', 'rotate', '--json')
      assert.deepEqual(again.json, { ...json, resealed: 0, resumed: true }, again.stderr)
      assert.deepEqual(json.keptIn, [])
    })
    await withEnv(other, async () => {
      const { json } = await cli.run('master-key', 'rotate', '--json')
      assert.deepEqual([json.masterKey, json.resealed], [idOf(third), 1])
      assert.ok(await opens())
    })
    assert.ok(await withEnv({ LATCHKEY_MASTER_KEY: third }, opens))
  })
})

describe('a store refuses to open, and says which key is missing,', () => {
  test('with the old key alone, or the new one alone, while a rotation is under way', async () => {
    const { cli, opens, read } = await withToken()
    const script = join(import.meta.dirname, '..', 'trust', 'killed-rotation.ts')
    await cli.spawnScript(script, {}, ['2', 'answered']).exited
    const [made = '', before = ''] = read()
    for (const [given, missing] of [
      [made, before],
      [before, made],
    ] as const) {
      const { code, stderr } = await withEnv({ LATCHKEY_MASTER_KEY: given }, () => cli.run('doctor'))
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`being rotated, and ${idOf(missing)} .* in addition to ${idOf(given)}`))
    }
    const backup = join(cli.dataDir, 'midway.lkb')
    assert.equal((await cli.run('backup', backup)).code, 0)
    const { stderr } = await withEnv({ LATCHKEY_MASTER_KEY: made }, () => cli.run('restore', backup, '--replace'))
    assert.match(stderr, new RegExp(`being rotated, and ${idOf(before)} .* in addition to ${idOf(made)}`))
    const copy = await cli.run('copy', '--to', join(cli.dataDir, 'copy'))
    assert.match(copy.stderr, /being rotated\. .*`latchkey master-key rotate`/)
    assert.ok(await opens())
    assert.equal((await cli.run('master-key', 'rotate', '--json')).json.resumed, true)
    assert.ok(await opens())
  })

  test('with the retired key', async () => {
    const { cli, read } = await withToken()
    const [before = ''] = read()
    await cli.run('master-key', 'rotate')
    const { code, stderr } = await withEnv({ LATCHKEY_MASTER_KEY: before }, () => cli.run('doctor'))
    assert.equal(code, 1)
    assert.match(stderr, /sealed with .*[0-9a-f]{8}, .*key given/)
  })
})
