// Names are resolved as the system would, but without its threads: an account that names machines for which nobody answers waits alone.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Names } from '../../src/outbound/names.ts'
import { DnsServer } from '../support/dns-server.ts'

describe('names', () => {
  let server: DnsServer
  let folder: string
  before(async () => {
    server = await DnsServer.start({
      'both.example': ['192.0.2.1', '2001:db8::1'],
      'old.example': ['192.0.2.2'],
      'empty.example': [],
      'receiver.team.svc.cluster.test': ['10.1.2.3'],
      'full.cluster.test': ['10.9.9.9'],
      'full.cluster.test.svc.cluster.test': ['10.0.0.1'],
    })
    for (let n = 0; n < 100; n++) server.zone[`silent-${n}.example`] = 'silent'
    folder = mkdtempSync(join(tmpdir(), 'latchkey-names-'))
  })
  after(() => {
    server.close()
    rmSync(folder, { recursive: true })
  })

  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const open = (hosts = '', resolvConf = '') =>
    new Names({
      servers: [server.address],
      hosts: file('hosts', hosts),
      resolvConf: file('resolv.conf', resolvConf),
    })
  const addresses = async (names: Names, hostname: string) =>
    (await names.resolve(hostname, 'acc_1')).map(({ address }) => address)

  test('a name has all its addresses of both kinds, and one that has none is not there', async () => {
    const names = open()
    assert.deepEqual(await names.resolve('Both.example.', 'acc_1'), [
      { address: '192.0.2.1', family: 4 },
      { address: '2001:db8::1', family: 6 },
    ])
    assert.deepEqual(await addresses(names, 'old.example'), ['192.0.2.2'])
    for (const missing of ['empty.example', 'missing.example']) {
      await assert.rejects(names.resolve(missing, 'acc_1'), { code: 'ENOTFOUND' })
    }
  })

  test('what the hosts file says goes before what name servers say, as it is at each question', async () => {
    const names = open('10.0.0.7\told.example other # a comment\n# 10.0.0.8 both.example\n::7 other\n')
    assert.deepEqual(await addresses(names, 'OLD.example'), ['10.0.0.7'])
    assert.deepEqual(await addresses(names, 'other'), ['10.0.0.7', '::7'])
    assert.deepEqual(await addresses(names, 'both.example'), ['192.0.2.1', '2001:db8::1'])
    file('hosts', '')
    assert.deepEqual(await addresses(names, 'old.example'), ['192.0.2.2'])
  })

  test('localhost and what ends in it is this machine, without a question to a name server', async () => {
    const before = server.asked.length
    for (const local of ['localhost', 'LOCALHOST.', 'app.localhost']) {
      assert.deepEqual(await addresses(open(), local), ['127.0.0.1', '::1'])
    }
    assert.deepEqual(await addresses(open('127.0.0.2 localhost'), 'localhost'), ['127.0.0.2'])
    assert.equal(server.asked.length, before)
  })

  test('domains that the system searches are searched, first for a name with few dots', async () => {
    const names = open('', 'search team.svc.cluster.test svc.cluster.test\noptions timeout:1 ndots:3\n')
    assert.deepEqual(await addresses(names, 'receiver'), ['10.1.2.3'])
    assert.deepEqual(await addresses(names, 'receiver.team'), ['10.1.2.3'])
    assert.deepEqual(await addresses(names, 'full.cluster.test'), ['10.0.0.1'])
    assert.deepEqual(await addresses(names, 'full.cluster.test.'), ['10.9.9.9'])
    const few = open('', 'domain svc.cluster.test')
    assert.deepEqual(await addresses(few, 'full.cluster.test'), ['10.9.9.9'])
    await assert.rejects(few.resolve('receiver', 'acc_1'), { code: 'ENOTFOUND' })
  })

  test('names for which nobody answers are asked for eight at a time, and hold up no other account', async () => {
    const names = open()
    const abort = new AbortController()
    const all = Array.from({ length: 100 }, (_, n) => names.resolve(`silent-${n}.example`, 'acc_1', abort.signal))
    const ended = Promise.allSettled(all)
    const askedFor = () => new Set(server.asked.filter((name) => name.startsWith('silent'))).size
    await server.until(() => askedFor() === 8)
    assert.deepEqual(await names.resolve('old.example', 'acc_2'), [{ address: '192.0.2.2', family: 4 }])
    assert.equal(askedFor(), 8)
    abort.abort()
    assert.ok((await ended).every(({ status }) => status === 'rejected'))
    assert.deepEqual(await addresses(names, 'old.example'), ['192.0.2.2'])
  })

  test('nobody waits for a silent name server for more than some seconds', async () => {
    await assert.rejects(open().resolve('silent-0.example', 'acc_1'), { code: 'ETIMEOUT' })
  })

  test('a connection to what the operator has set finds its address in the same way', async () => {
    const names = open()
    const lookup = (hostname: string, all: boolean) =>
      new Promise((resolve, reject) => {
        names.lookup(hostname, { all }, (error, ...found) => (error ? reject(error) : resolve(found)))
      })
    assert.deepEqual(await lookup('old.example', false), ['192.0.2.2', 4])
    assert.deepEqual(await lookup('old.example', true), [[{ address: '192.0.2.2', family: 4 }]])
    await assert.rejects(lookup('missing.example', true), { code: 'ENOTFOUND' })
  })
})
