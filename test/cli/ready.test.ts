import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { Cli } from '../support/cli.ts'

const cli = new Cli()
after(() => cli.dispose())

async function askOf(host: string, port: string) {
  const asking = cli.spawn(['ready'], { HOST: host, PORT: port })
  return { code: await asking.exited, asking }
}

test('`ready` succeeds while the server with its settings serves, and fails once it has ended', async () => {
  const server = cli.spawn(['serve'], { PORT: '0' })
  const { port } = new URL(await server.ready())
  for (const host of ['127.0.0.1', '0.0.0.0']) assert.equal((await askOf(host, port)).code, 0)
  server.kill('SIGTERM')
  await server.exited
  const { code, asking } = await askOf('127.0.0.1', port)
  assert.equal(code, 1)
  assert.match(asking.stderr, /readyz: connect ECONNREFUSED .*\. .*HOST and PORT /)
})

test('`ready` fails where the server says that it is not ready, or says nothing, or its port is not known', async () => {
  const shut = createServer((_request, response) => response.writeHead(503).end()).listen(0, '127.0.0.1')
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  const said = []
  for (const server of [shut, silent]) {
    if (!server.listening) await once(server, 'listening')
    const { asking } = await askOf('127.0.0.1', String((server.address() as AddressInfo).port))
    said.push(asking.stderr)
    server.closeAllConnections()
    server.close()
  }
  assert.match(said[0] ?? '', /readyz: 503/)
  assert.match(said[1] ?? '', /no answer within 3 s/)
  assert.match((await askOf('127.0.0.1', '0')).asking.stderr, /PORT is 0/)
})
