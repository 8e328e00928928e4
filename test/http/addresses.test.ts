// Whose address counts for a policy: the peer's, or through trusted proxies the rightmost that is not one of them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Estate, openedBefore, sqliteEngine } from '../support/estate.ts'
import { bearer, closeConnections } from '../support/http.ts'

const ALLOWED = '203.0.113.7'

describe('behind a trusted proxy', () => {
  const estate = openedBefore(sqliteEngine, { LATCHKEY_TRUST_PROXY: 'loopback,10.0.0.0/8' })

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
    ['with a port', [ALLOWED], [`${ALLOWED}:443`], 204],
    ['with a port, of another client', [ALLOWED], ['203.0.113.8:443'], 403],
    ['IPv6 with a port', ['2001:db8::/32'], ['[2001:db8:1::9]:65535'], 204],
    ['IPv6 in brackets', ['2001:db8::/32'], ['[2001:db8:1::9]'], 204],
    ['behind two proxies that add ports', [ALLOWED], [`${ALLOWED}:1024, 10.1.2.3:55000`], 204],
    [
      'what the client wrote before it is not believed with a port either',
      [ALLOWED],
      [`${ALLOWED}, 198.51.100.9:80`],
      403,
    ],
    ['nor before a text that is no address', [ALLOWED, '127.0.0.0/8'], [`${ALLOWED}, unknown, 10.1.2.3`], 403],
  ]
  for (const [name, addresses, forwarded, status] of rows) {
    test(name, async () => assert.equal(await verify(addresses, forwarded), status))
  }

  test('a forwarded text that is no address lets nobody in who is bound to addresses', async () => {
    const wrong = [
      ...['unknown', '203.0.113.007', 'localhost', '203.0.113.7:', '203.0.113.7:x', '203.0.113.7:1:2'],
      ...['[203.0.113.7]:1'],
    ]
    for (const text of [
      ...wrong,
      '[2001:db8::1',
      '2001:db8::1]:1',
      '[]:1',
      '[]',
      ':1',
      '"203.0.113.7:1"',
      '203.0.113.7:123456',
    ]) {
      assert.equal(await verify([ALLOWED, '0.0.0.0/0', '::/0'], [text]), 403, text)
    }
    for (const text of ['', ' ', ',', ' , ']) assert.equal(await verify([ALLOWED], [text]), 403, text)
  })

  test('the history and the log have the address without its port, and that of the proxy where the client’s cannot be read', async () => {
    for (const [forwarded, address] of [
      ['203.0.113.7:443', ALLOWED],
      ['unknown', '127.0.0.1'],
    ] as const) {
      const { id } = await estate.token()
      const path = `/api/v1/apiClient/token/${id}`
      const headers = [['x-forwarded-for', forwarded]] as const
      await estate.mineAsks({ method: 'PUT', path, headers, body: { status: 'inactive' } })
      const [entry] = (await estate.mineAsks({ path: `${path}/history` })).json.data.items
      assert.equal(entry.address, address)
      assert.match(estate.logged.join(''), new RegExp(`"tokenId":"${id}","address":"${address}"`))
    }
  })

  test('the last verifications of a token have the address that policies see, and none where it cannot be read', async () => {
    const { id, credential } = await estate.token()
    for (const forwarded of ['203.0.113.7:443', '::ffff:203.0.113.8', '[2001:db8::1]:80', 'unknown']) {
      const headers = [bearer(credential), ['x-forwarded-for', forwarded] as const]
      assert.equal((await estate.ask({ path: '/api/v1/verify', headers })).status, 204)
    }
    await estate.running.registry.verification.flush()
    const { json } = await estate.mineAsks({ path: `/api/v1/apiClient/token/${id}/recent` })
    const addresses = new Set(json.data.accepted.map(({ address }: { address: string | null }) => address))
    assert.deepEqual(addresses, new Set([null, '2001:db8::1', '203.0.113.8', '203.0.113.7']))
  })
})

describe('X-Forwarded-For of a peer that is not trusted', () => {
  const warnings = (estate: Estate) =>
    estate.logged.join('').match(/"address":"[^"]+","msg":"X-Forwarded-For[^"]*"/g) ?? []

  for (const [what, env] of [
    ['where no proxy is', {}],
    ['where others are', { LATCHKEY_TRUST_PROXY: '10.0.0.0/8' }],
  ] as const) {
    test(`changes nothing, and is warned of once, ${what}`, async () => {
      const estate = await Estate.open(sqliteEngine, env)
      try {
        const { credential } = await estate.token({ policy: { addresses: [ALLOWED] } as never })
        assert.equal((await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status, 403)
        assert.deepEqual(warnings(estate), [])
        for (let n = 0; n < 3; n++) {
          const headers = [bearer(credential), ['x-forwarded-for', ALLOWED] as const]
          assert.equal((await estate.ask({ path: '/api/v1/verify', headers })).status, 403)
        }
        const [warning = '', ...more] = warnings(estate)
        assert.match(warning, /"address":"127\.0\.0\.1".*LATCHKEY_TRUST_PROXY/)
        assert.deepEqual(more, [])
      } finally {
        closeConnections()
        await estate.close()
      }
    })
  }
})
