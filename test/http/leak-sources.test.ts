// Reports that are signed: GitHub's own example, keys in a file, keys that cannot be fetched or are of another kind.
import assert from 'node:assert/strict'
import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { readConfig } from '../../src/config.ts'
import { openLeakSource } from '../../src/http/access/leak-sources.ts'

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

const REFUSED = { message: 'The signature of the report is missing or not valid' }

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
