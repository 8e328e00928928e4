// Reports that are signed: GitHub's own example, keys in a file, keys that cannot be fetched or are of another kind.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { readConfig } from '../../src/config.ts'
import { BAD_SIGNATURE, openLeakSource } from '../../src/http/access/leak-sources.ts'
import type { HttpFailure } from '../../src/http/protocol/failures.ts'

const folder = mkdtempSync(join(tmpdir(), 'latchkey-keys-'))
after(() => rmSync(folder, { recursive: true, force: true }))
const keysFile = join(folder, 'keys.json')

const [source] = readConfig({ LATCHKEY_LEAK_SOURCES: JSON.stringify([{ name: 'github', keysFile }]) }).leakSources

function writeKeys(keys: Readonly<Record<string, string>>): void {
  const list = Object.entries(keys).map(([key_identifier, key]) => ({ key_identifier, key, is_current: true }))
  writeFileSync(keysFile, JSON.stringify({ public_keys: list }))
}

const request = (id: string, signature: string) =>
  ({
    headers: { 'github-public-key-identifier': id, 'github-public-key-signature': signature },
  }) as unknown as FastifyRequest

const REFUSED = { message: BAD_SIGNATURE }

test('the example that GitHub publishes is verified, and no other body', async () => {
  assert.ok(source)
  const id = '90a421169f0a406205f1563a953312f0be898d3c7b6c06b681aa86a874555f4a'
  writeKeys({
    [id]: `-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE9MJJHnMfn2+H4xL4YaPDA4RpJqUq
kCmRCBnYERxZanmcpzQSXs1X/AljlKkbJ8qpVIW4clayyef9gWhFbNHWAA==
-----END PUBLIC KEY-----
`,
  })
  const body = Buffer.from('[{"token":"some_token","type":"some_type","url":"some_url"}]')
  const signature = 'MEUCIQDKZokqnCjrRtw0tni+2Ltvl/uiMJ1EGumEsp1BsNr32AIgQY1YXD2nlj+XNfGK4rBfkMJ1JDOQcYXxa2sY8FNkrKc='
  const { requireSigned } = openLeakSource(source, () => 0, fetch)
  await requireSigned(request(id, signature), body)
  await assert.rejects(requireSigned(request(id, signature), Buffer.from(`${body} `)), REFUSED)
})

test('a key that was removed from the file no longer counts, and one on another curve never does', async () => {
  assert.ok(source)
  const [p256, p384] = ['P-256', 'P-384'].map((namedCurve) => generateKeyPairSync('ec', { namedCurve }))
  assert.ok(p256 && p384)
  const pem = ({ publicKey }: typeof p256) => publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const body = Buffer.from('[]')
  const signed = ({ privateKey }: typeof p256) => sign('sha256', body, privateKey).toString('base64')
  writeKeys({ a: pem(p256), b: pem(p384) })
  const { requireSigned } = openLeakSource(source, () => 0, fetch)
  await requireSigned(request('a', signed(p256)), body)
  await assert.rejects(requireSigned(request('b', signed(p384)), body), REFUSED)
  writeKeys({})
  await assert.rejects(requireSigned(request('a', signed(p256)), body), REFUSED)
})

test('without the keys of a source, which is asked over HTTPS only, nothing is believed', async () => {
  const settings = (keysUrl: string) => JSON.stringify([{ name: 'github', keysUrl }])
  for (const keysUrl of ['http://keys.example/', 'ftp://127.0.0.1/', 'keys']) {
    assert.throws(() => readConfig({ LATCHKEY_LEAK_SOURCES: settings(keysUrl) }), /LATCHKEY_LEAK_SOURCES must be JSON/)
  }
  const [silent] = readConfig({ LATCHKEY_LEAK_SOURCES: settings('http://127.0.0.1:9/') }).leakSources
  assert.ok(silent)
  await assert.rejects(
    openLeakSource(silent, () => 0, fetch).requireSigned(request('a', 'AAAAAAAA'), Buffer.from('[]')),
    {
      code: 'unavailable',
    },
  )
})

test('a report with a new key is believed as soon as it can be fetched, whatever ids strangers have made up before', async () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = pair.publicKey.export({ type: 'spki', format: 'pem' })
  let [published, fetched, now] = [[] as object[], 0, 0]
  await using server = createServer((_request, answer) => {
    fetched++
    answer.end(JSON.stringify({ public_keys: published }))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const keysUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const [settings] = readConfig({ LATCHKEY_LEAK_SOURCES: JSON.stringify([{ name: 'github', keysUrl }]) }).leakSources
  assert.ok(settings)
  const { requireSigned } = openLeakSource(settings, () => now, fetch)
  const body = Buffer.from('[]')
  const genuine = request('new', sign('sha256', body, pair.privateKey).toString('base64'))

  let waitMs = 0
  for (let n = 0; waitMs === 0; n++) {
    assert.ok(n < 100)
    const refused = (await requireSigned(request(`made up ${n}`, 'AAAAAAAA'), body).catch(
      (error) => error,
    )) as HttpFailure
    if (refused.status === 503) waitMs = 1_000 * Number(refused.headers['retry-after'])
    else assert.equal(refused.message, REFUSED.message)
  }
  const before = fetched
  published = [{ key_identifier: 'new', key }]
  await assert.rejects(requireSigned(genuine, body), { status: 503 })
  assert.equal(fetched, before)
  assert.ok(waitMs <= 120_000, `${waitMs}`)
  now += waitMs
  // A stranger may be the first to have the keys fetched again: they are fetched for everybody.
  await assert.rejects(requireSigned(request('made up', 'AAAAAAAA'), body), REFUSED)
  await requireSigned(genuine, body)
  assert.equal(fetched, before + 1)
})

test('a source that is not described completely is refused', () => {
  for (const sources of [
    '{}',
    'github',
    '[{}]',
    '[null]',
    '[{"name":"other"}]',
    '[{"name":"github","keysurl":"https://x.example/"}]',
    '[{"name":"github"},{"name":"github"}]',
    '[{"name":"a/b","keyIdHeader":"X-Key","signatureHeader":"X-Signature","keysUrl":"https://x.example/"}]',
    '[{"name":"o","keyIdHeader":"X-Key","signatureHeader":"X-Signature","keysUrl":"https://x.example/","keysFile":"k"}]',
  ]) {
    assert.throws(() => readConfig({ LATCHKEY_LEAK_SOURCES: sources }), /LATCHKEY_LEAK_SOURCES must be JSON/, sources)
  }
  const named = '{"name":"o","keyIdHeader":"X-Key","signatureHeader":"X-Signature","keysUrl":"https://x.example/"}'
  assert.equal(readConfig({ LATCHKEY_LEAK_SOURCES: `[{"name":"github"},${named}]` }).leakSources.length, 2)
})
