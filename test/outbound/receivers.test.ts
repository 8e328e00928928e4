// Which addresses webhooks may lead to, and that nothing is ever sent to any other.
import assert from 'node:assert/strict'
import type { networkInterfaces } from 'node:os'
import { after, before, describe, test } from 'node:test'
import { Names } from '../../src/outbound/names.ts'
import { HttpReceivers, type Resolve, retryAfterOf } from '../../src/outbound/receivers.ts'
import { parseAddress, parseBlock } from '../../src/tokens/verify/addresses.ts'
import { isPublicAddress } from '../../src/tokens/verify/public-addresses.ts'
import type { Message } from '../../src/tokens/webhooks/ports.ts'
import { WebhookReceiver } from '../support/webhook-receiver.ts'

/** Each stands for the receiver below where a system lets it, or for something that only this machine reaches. */
const FORBIDDEN = [
  ...['127.0.0.1', '127.1', '127.255.255.254', '0.0.0.0', '0', '2130706433', '0x7f000001', '0177.0.0.1', '127.0.1'],
  ...['10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  ...['169.254.169.254', '169.254.0.1', '100.64.0.1', '100.127.255.255', '192.0.0.1', '192.0.2.1', '192.88.99.1'],
  ...[
    '168.63.129.16',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
  ],
  ...[
    '255.255.255.255',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:10.0.0.1]',
    '[::127.0.0.1]',
  ],
  ...['[64:ff9b::7f00:1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2002:a00:1::1]'],
  ...['[2001::7f00:1]', '[2001:0:7f00:1::]', '[2001:db8::1]', '[3fff::1]', '[fc00::1]', '[fd00::1]', '[fe80::1]'],
  ...[
    '[fec0::1]',
    '[ff02::1]',
    '[ff0e::1]',
    '[100::1]',
    '[5f00::1]',
    '[2001:20::1]',
    '[::ffff:169.254.169.254]',
    'localhost',
  ],
]
const PUBLIC = ['1.1.1.1', '8.8.8.8', '100.128.0.1', '172.32.0.1', '[2606:4700::1111]', '[2a00:1450::1]', '[2400::1]']

const named = (addresses: readonly string[]) =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))

describe('addresses of receivers', () => {
  let receiver: WebhookReceiver
  before(async () => {
    receiver = await WebhookReceiver.start()
  })
  after(() => receiver.close())

  const message = (host: string): Message => ({
    accountId: 'acc_1',
    url: `http://${host}:${receiver.port}/`,
    id: 'whk_1_1',
    secrets: ['whsec_c2VjcmV0'],
    at: 1,
    row: {
      ...{ seq: 1, at: 1, by: 'key_1', byName: null, action: 'token.update', subject: 'tok_1', subjectName: null },
      ...{ subAccount: null, from: {}, to: {}, requestId: null, address: null },
    },
  })
  const names = new Names()
  const receivers = (
    resolve: Resolve = names.resolve.bind(names),
    allowed: readonly string[] = [],
    interfaces?: typeof networkInterfaces,
  ) =>
    new HttpReceivers({
      allowed: allowed.map((text) => parseBlock(text)).filter((block) => typeof block !== 'string'),
      version: '1',
      resolve,
      ...(interfaces && { interfaces }),
    })
  const assertRefused = async (own: HttpReceivers, host: string) => {
    const outcome = await own.send(message(host), new AbortController().signal)
    assert.deepEqual([outcome.kind, outcome.responseStatus, receiver.connections], ['failed', null, 0], host)
    if (outcome.kind === 'failed') assert.match(outcome.error, /not public/, host)
  }

  test('nothing is sent to an address that is not public, however it is written', async () => {
    assert.ok(FORBIDDEN.length >= 55)
    for (const host of FORBIDDEN) {
      await assertRefused(receivers(), host)
      assert.match(String(await receivers().findObstacle(`http://${host}/`, 'acc_1')), /not public/, host)
    }
  })

  test('nor to a name that resolves to one, alone or among others, before others or after them', async () => {
    const lists = [
      ['127.0.0.1'],
      ['8.8.8.8', '127.0.0.1'],
      ['127.0.0.1', '8.8.8.8'],
      ['2606:4700::1111', '::1'],
      ['::ffff:127.0.0.1'],
    ]
    for (const addresses of [...lists, ['not an address'], ['fe80::1%lo']]) {
      await assertRefused(
        receivers(async () => named(addresses)),
        'receiver.example',
      )
    }
  })

  test('nor to a name that changes between two resolutions: each attempt resolves once, and connects to what was checked', async () => {
    for (const first of ['8.8.8.8', '192.0.2.1'] as const) {
      let asked = 0
      const changing: Resolve = async () => named([asked++ === 0 ? first : '127.0.0.1'])
      const own = receivers(changing)
      await own.findObstacle('http://receiver.example/', 'acc_1')
      await assertRefused(own, 'receiver.example')
      assert.equal(asked, 2)
    }
    // The first answer is the loopback interface, and allowed; the second would be asked for by a careless connection.
    let asked = 0
    const rebinding: Resolve = async () => named([asked++ === 0 ? '127.0.0.1' : '127.0.0.2'])
    const outcome = await receivers(rebinding, ['127.0.0.1/32']).send(
      message('receiver.example'),
      new AbortController().signal,
    )
    assert.deepEqual([outcome, asked], [{ kind: 'delivered', responseStatus: 204 }, 1])
    assert.equal(receiver.received.at(-1)?.headers.host, `receiver.example:${receiver.port}`)
  })

  test('a network that the operator allows is reached, and no other', async () => {
    const own = receivers(undefined, ['127.0.0.0/8'])
    assert.equal((await own.send(message('127.0.0.1'), new AbortController().signal)).kind, 'delivered')
    assert.equal((await own.findObstacle('http://10.0.0.1/', 'acc_1')) === undefined, false)
    assert.equal(await own.findObstacle('http://127.0.0.1/', 'acc_1'), undefined)
  })

  test('nothing is sent to an address of this machine, as they are at that moment, unless the operator allows it', async () => {
    const interfaceWith = (address: string) => ({ address, netmask: '', mac: '', internal: false, cidr: null })
    const own = (addresses: readonly string[], allowed: readonly string[] = []) =>
      receivers(
        async () => named(['8.8.8.8', '2001:4860:4860::8888']),
        allowed,
        () => ({
          lo: undefined,
          eth0: addresses.map((address) => ({ ...interfaceWith(address), family: 'IPv4' })),
        }),
      )
    const obstacleFor = (receivers: HttpReceivers) => receivers.findObstacle('https://receiver.example/', 'acc_1')
    for (const address of ['8.8.8.8', '2001:4860:4860:0::8888', '::ffff:8.8.8.8']) {
      assert.match(String(await obstacleFor(own(['1.1.1.1', address]))), /this machine/)
    }
    assert.equal(await obstacleFor(own(['1.1.1.1', 'fe80::1%eth0'])), undefined)
    assert.equal(await obstacleFor(own(['8.8.8.8'], ['8.8.8.8/32'])), undefined)
    const unknown = receivers(undefined, [], () => {
      throw new Error('no netlink')
    })
    assert.match(String(await unknown.findObstacle('https://8.8.8.8/', 'acc_1')), /cannot be checked.*no netlink/)
  })

  test('nothing is sent to a port that fetch refuses, whatever the operator allows', async () => {
    // Asks fetch itself, without a connection.
    const dispatch = () => {
      throw new Error('not refused')
    }
    const isRefused = async (port: number) => {
      const init = { dispatcher: { dispatch } } as unknown as RequestInit
      const { cause } = await fetch(`http://127.0.0.1:${port}/`, init).catch((error) => error)
      return cause.message === 'bad port'
    }
    const own = receivers(undefined, ['127.0.0.0/8'])
    for (let port = 0; port <= 10_100; port++) {
      const obstacle = await own.findObstacle(`http://127.0.0.1:${port}/`, 'acc_1')
      assert.equal(obstacle?.includes(` port ${port},`), (await isRefused(port)) ? true : undefined)
    }
    const outcome = await own.send(
      { ...message('127.0.0.1'), url: 'http://127.0.0.1:25/' },
      new AbortController().signal,
    )
    assert.ok(outcome.kind === 'failed')
    assert.match(outcome.error, /port 25/)
  })

  test('a redirect is not followed', async () => {
    const target = await WebhookReceiver.start()
    receiver.answer = () => (response) => void response.writeHead(307, { location: target.url }).end()
    const outcome = await receivers(undefined, ['127.0.0.0/8']).send(message('127.0.0.1'), new AbortController().signal)
    assert.deepEqual([outcome.kind, outcome.responseStatus, target.connections], ['failed', 307, 0])
    await target.close()
  })

  test('of an answer no more than 4 kB are read', async () => {
    receiver.answer = () => (response) => {
      response.writeHead(500)
      response.write('x'.repeat(10_000))
    }
    const outcome = await receivers(undefined, ['127.0.0.0/8']).send(message('127.0.0.1'), new AbortController().signal)
    assert.ok(outcome.kind === 'failed' && outcome.error.length <= 4_200)
  })
})

test('public addresses are public, and a name that cannot be resolved is no reason to refuse an address', async () => {
  for (const host of PUBLIC)
    assert.equal(isPublicAddress(parseAddress(host.replaceAll(/[[\]]/g, '')) ?? []), true, host)
  const failing = new HttpReceivers({
    allowed: [],
    version: '1',
    resolve: () => Promise.reject(new Error('ENOTFOUND')),
  })
  assert.equal(await failing.findObstacle('https://receiver.example/', 'acc_1'), undefined)
})

test('Retry-After is a number of seconds or a date', () => {
  assert.equal(retryAfterOf('120'), 120_000)
  assert.equal(retryAfterOf('Wed, 21 Oct 2015 07:28:00 GMT', Date.UTC(2015, 9, 21, 7, 27)), 60_000)
  for (const nonsense of [undefined, '', 'soon', '-1', 'Wed, 21 Oct 2015 07:28:00 GMT']) {
    assert.equal(retryAfterOf(nonsense), undefined)
  }
})
