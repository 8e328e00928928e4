// How the console follows events: what an event makes out of date, and how a stream is read and opened again.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { followEvents, type StreamEvent } from '../../console/src/live/event-stream.ts'
import { isOutdated, shows } from '../../console/src/live/outdated.ts'

test('an event concerns the lists that show its subject, and the pages of no other thing', () => {
  const north = { _id: 'sub_n', name: 'North' }
  const token = { action: 'token.update', subject: 'tok_1', subAccount: north } as const
  const keys = {
    tokens: ['tokens', 'list', {}],
    token: ['tokens', 'one', 'tok_1'],
    otherToken: ['tokens', 'one', 'tok_2'],
    subAccounts: ['sub-accounts', 'list', {}],
    subAccount: ['sub-accounts', 'one', 'sub_n'],
    otherSubAccount: ['sub-accounts', 'one', 'sub_s'],
    overview: ['overview'],
    history: ['history', { page: 1 }],
    historyOfToken: ['history', { tokenId: 'tok_1' }],
    historyOfOther: ['history', { tokenId: 'tok_2' }],
    historyOfSubAccount: ['history', { subAccountId: 'sub_n' }],
    accountKeys: ['keys', 'list', 1, 25],
    whoami: ['whoami'],
    webhooks: ['webhooks', 'list', 1, 25],
    operations: ['bulk', 'list', 1, 25],
    otherOperation: ['bulk', 'one', 'blk_2'],
  }
  const shown = (entry: Parameters<typeof shows>[1]) =>
    Object.keys(keys).filter((name) => shows(keys[name as keyof typeof keys], entry))
  assert.deepEqual(shown(token), [
    ...['tokens', 'token', 'subAccounts', 'subAccount', 'overview', 'history', 'historyOfToken', 'historyOfSubAccount'],
  ])
  assert.deepEqual(shown({ action: 'sub-account.update', subject: 'sub_n', subAccount: north }), [
    ...['tokens', 'token', 'otherToken', 'subAccounts', 'subAccount', 'overview', 'history'],
    ...['historyOfToken', 'historyOfOther', 'historyOfSubAccount'],
  ])
  assert.deepEqual(shown({ action: 'key.revoke', subject: 'key_1', subAccount: null }), ['history', 'accountKeys'])
  assert.deepEqual(shown({ action: 'account.rename', subject: 'acc_1', subAccount: null }), ['history', 'whoami'])
  assert.deepEqual(shown({ action: 'bulk.undo', subject: 'blk_1', subAccount: null }), ['history', 'operations'])
  assert.ok(isOutdated(keys.webhooks, token), 'each event is one that a webhook has to get')
  assert.ok(!shows(keys.webhooks, token))
})

test('events come in their order however they are cut into pieces, and a stream that ends is opened again', async (t) => {
  const name = 'Zoë 🔑'
  const event = (id: number) => `id: ${id}\nevent: token.update\ndata: ${JSON.stringify({ id, name })}\n\n`
  const answers: ((response: ServerResponse) => void)[] = [
    (response) => response.writeHead(503).end(),
    async (response) => {
      for (const byte of Buffer.from(`retry: 2000\n\n:\n\n${event(1)}${event(2)}`)) {
        if (!response.write(Buffer.of(byte))) await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end(': the server stops\n\n')
    },
    (response) => response.write(event(3)),
  ]
  const server = createServer((_, response) => answers.shift()?.(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const stop = new AbortController()
  const events: StreamEvent[] = []
  await followEvents({
    open: (signal) => fetch(url, { signal }),
    onEvent(each) {
      events.push(each)
      if (each.id === '3') stop.abort()
    },
    signal: stop.signal,
  })
  const data = (id: number) => ({ id: String(id), name: 'token.update', data: JSON.stringify({ id, name }) })
  assert.deepEqual(events, [data(1), data(2), data(3)])
})
