// Files that this user may not use: the message says who runs the command, whose the file is, and what to run.
import assert from 'node:assert/strict'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { BIN, Cli } from '../support/cli.ts'

const NOBODY = 65_534
const AS_USER = join(import.meta.dirname, 'as-user.ts')
const isRoot = process.geteuid?.() === 0
const owner = userInfo().username

describe('a user without permission is told who they are, whose the file is, and what to run:', () => {
  const cli = new Cli()
  before(() => cli.estate())
  after(() => cli.dispose())

  /** Root may use every file, so root gives up being root; anybody else gives up the permission. */
  async function refused(blocked: string, ...args: string[]): Promise<void> {
    const stderr = await explained(blocked, args)
    assert.match(stderr, isRoot ? new RegExp(`runuser -u ${owner} -- .*chown -R `) : /chmod u\+rwX /)
  }

  async function explained(
    blocked: string,
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<string> {
    const all = [cli.dataDir, ...readdirSync(cli.dataDir).map((name) => join(cli.dataDir, name))]
    if (isRoot) for (const file of all) if (file !== blocked) chownSync(file, NOBODY, NOBODY)
    const mode = blocked === cli.dataDir ? 0o700 : 0o600
    if (!isRoot) chmodSync(blocked, 0)
    const command = isRoot
      ? cli.spawnScript(AS_USER, { PORT: '0', ...env }, [String(NOBODY), ...args])
      : cli.spawnScript(BIN, { PORT: '0', ...env }, args)
    const code = await command.exited
    if (isRoot) for (const file of all) chownSync(file, 0, 0)
    chmodSync(blocked, mode)
    const { stdout, stderr } = command
    assert.deepEqual([code, stdout], [1, ''], stderr)
    assert.match(stderr, new RegExp(`runs as user ${isRoot ? '(nobody|#65534)' : owner};`))
    assert.ok(stderr.includes(`${blocked} belongs to ${owner} and has mode `), stderr)
    assert.equal(stderr.match(/belongs to/g)?.length, 1)
    assert.doesNotMatch(stderr, /\n\s+at /)
    return stderr
  }

  test('the folder of the store', async () => {
    await refused(cli.dataDir, 'account', 'list')
    await refused(cli.dataDir, 'serve')
  })

  for (const name of ['master.key', 'latchkey.db', 'revocations.log']) {
    test(name, () => refused(join(cli.dataDir, name), 'account', 'create', '--name', 'Refused'))
  }

  test('a file that a setting names, next to which may be the master key: its group, not another owner', async () => {
    const folder = join(cli.dataDir, 'settings')
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, 'grants.json'), '[]')
    writeFileSync(join(cli.dataDir, 'jwks.json'), '{"keys":[]}')
    const jwt = {
      LATCHKEY_JWT_ISSUER: 'https://i.example',
      LATCHKEY_JWT_AUDIENCE: 'a',
      LATCHKEY_JWT_ACCOUNT_CLAIM: 'c',
    }
    const files = {
      LATCHKEY_JWT_JWKS: join(cli.dataDir, 'jwks.json'),
      LATCHKEY_JWT_GRANTS: join(folder, 'grants.json'),
    }
    const stderr = await explained(folder, ['serve'], { ...jwt, ...files })
    assert.match(stderr, isRoot ? /to let .* read it: chgrp .*; chmod g\+rX / : /chmod u\+rwX /)
    assert.doesNotMatch(stderr, /chown/)
    rmSync(folder, { recursive: true })
  })

  test('the .env of the current folder, whose owner they are not advised to become', async () => {
    const folder = join(cli.dataDir, 'private')
    mkdirSync(folder, { mode: 0o700 })
    writeFileSync(join(folder, '.env'), '', { mode: 0 })
    const inFolder = ['sh', '-c', 'cd "$0" && exec "$@"', folder]
    const program = isRoot ? [AS_USER, String(NOBODY)] : [BIN]
    const command = cli.spawnUnder(inFolder, [...program, 'account', 'list'])
    assert.equal(await command.exited, 1)
    rmSync(folder, { recursive: true })
    assert.match(command.stderr, /\/private\/\.env .*EACCES.*another folder/)
    assert.doesNotMatch(command.stderr, /chown|belongs to/)
  })
})
