// The receiver in JavaScript of examples/webhooks, as a process of its own.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Process } from '../support/cli.ts'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { closeConnections, send } from '../support/http.ts'
import { freePort } from '../support/identity-provider.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'

const RECEIVER = join(import.meta.dirname, '..', '..', 'examples', 'webhooks', 'receiver.mjs')

test('the receiver in JavaScript takes what Latchkey sends, and nothing else', async () => {
  const port = String(await freePort())
  const estate = await Estate.open(sqliteEngine, LOOPBACK)
  const { webhooks } = estate.running.registry
  const caller = estate.running.operator.actFor(estate.mine.accountId)
  const fields = { url: `http://127.0.0.1:${port}/` }
  const { webhook, secret } = await webhooks.create(caller, fields, estate.running.operator.origin())
  const receiver = new Process([process.execPath, RECEIVER], { SECRET: secret, PORT: port })
  try {
    const tried = () => webhooks.test(caller, webhook.id, estate.running.operator.origin())
    while ((await tried()).kind === 'failed');
    await receiver.logs((stdout) => stdout.includes('webhook.test'))
    const forged = await send(`http://127.0.0.1:${port}`, {
      method: 'POST',
      path: '/',
      headers: [
        ['webhook-id', 'x'],
        ['webhook-timestamp', String(Math.floor(Date.now() / 1000))],
        ['webhook-signature', 'v1,AAAA'],
      ],
      body: '{}',
    })
    assert.equal(forged.status, 400)
  } finally {
    receiver.kill('SIGTERM')
    await receiver.exited
    closeConnections()
    await estate.close()
  }
})
