// `latchkey find` while PostgreSQL goes away: never an all-clear.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EXIT } from '../../src/cli/terminal/exit-codes.ts'
import { Cli } from '../support/cli.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import { StallingProxy } from '../support/stalling-proxy.ts'

const cli = new Cli()
after(() => cli.dispose())

test('a store that is gone, from the start or in the middle of the text, has the exit code of an unreachable one', async () => {
  const server = await sharedServer()
  const proxy = await StallingProxy.start(server.port)
  const url = new URL(server.url(await emptyDatabase(server)))
  url.port = String(proxy.port)
  const env = { DATABASE_URL: url.href, LATCHKEY_MASTER_KEY: `${'A'.repeat(43)}=`, LATCHKEY_PG_WITNESS: 'off' }
  assert.equal((await cli.runWith(env, 'account', 'create', '--name', 'A')).code, 0)
  async function* text() {
    yield 'nobody-has-this\n'
    await proxy.close()
    yield `${'nobody-has-this-either-1234\n'.repeat(5_000)}`
  }
  for (const input of [text(), ['nobody-has-this']]) {
    const { code, stderr } = await cli.runAs({ input, env }, 'find')
    assert.equal(code, EXIT.unreachable, stderr)
  }
})
