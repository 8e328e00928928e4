// Whose address counts for a policy: the peer's, or through trusted proxies the rightmost that is not one of them.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Estate, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

const ALLOWED = '203.0.113.7'

describe('behind a trusted proxy', () => {
  let estate: Estate
  before(async () => {
    estate = await Estate.open(sqliteEngine, { LATCHKEY_TRUST_PROXY: 'loopback,10.0.0.0/8' })
  })
  after(async () => {
    closeConnections()
    await estate.close()
  })

  async function verify(addresses: readonly string[], forwarded: readonly string[]): Promise<number> {
    const { credential } = await estate.token({ policy: { addresses } as never })
    const headers = forwarded.map((value) => ['x-forwarded-for', value] as const)
    return (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential), ...headers] })).status
  }

  const rows: readonly (readonly [string, readonly string[], readonly string[], number])[] = [
    ['the address that the proxy tells', [ALLOWED], [ALLOWED], 204],
    ['behind two proxies', [ALLOWED], [`${ALLOWED}, 10.1.2.3`], 204],
    ['what the client wrote before it is not believed', [ALLOWED], [`${ALLOWED}, 198.51.100.9`], 403],
    ['in a header of its own neither', [ALLOWED], [ALLOWED, '198.51.100.9'], 403],
    ['the client’s, whatever it wrote', ['198.51.100.9'], [`${ALLOWED}, 198.51.100.9, 10.9.9.9`], 204],
    ['an IPv4 address mapped into IPv6', [ALLOWED], [`::ffff:${ALLOWED}`], 204],
    ['the same in hexadecimal', [ALLOWED], ['::ffff:cb00:7107'], 204],
    ['IPv6', ['2001:db8::/32'], ['2001:db8:1::9'], 204],
    ['another network of IPv6', ['2001:db8::/32'], ['2001:db9::1'], 403],
    ['an IPv4 block is not the IPv6 addresses that end like it', ['0.0.0.0/0'], ['::203.0.113.7'], 403],
    ['without the header it is the proxy itself', [ALLOWED], [], 403],
  ]
  for (const [name, addresses, forwarded, status] of rows) {
    test(name, async () => assert.equal(await verify(addresses, forwarded), status))
  }

  test('a forwarded text that is no address lets nobody in who is bound to addresses', async () => {
    for (const text of ['unknown', '203.0.113.7:443', '203.0.113.007', '', 'localhost', ' ']) {
      assert.notEqual(await verify([ALLOWED, '0.0.0.0/1', '128.0.0.0/2'], [text]), 500, text)
      assert.equal(await verify([ALLOWED], [text]), 403, text)
    }
  })
})
