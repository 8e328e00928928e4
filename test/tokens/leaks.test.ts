// The search for credentials in a text: what is a candidate, whatever is known of the credentials.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Candidate, LeakScanner } from '../../src/tokens/leaks/scanner.ts'
import { Shapes } from '../../src/tokens/leaks/shapes.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { chances } from '../support/seed.ts'

const PIECES = [
  ...['a', 'Z9', '_', '-', '.', '/', '+', '=', '%', '%3D', '\\', '\\n', '\\u0022', '"', "'", ',', '{', '}'],
  ...[' ', '\n', '\0', 'é', 'lk_tok_', 'x.y', 'abc'],
]

function shapesOf(...credentials: readonly string[]): Shapes {
  const shapes = new Shapes()
  for (const credential of credentials) shapes.add(credential.length, credential.slice(-4))
  return shapes
}

function scan(shapes: Shapes | 'any', ...chunks: readonly Uint8Array[]): Candidate[] {
  const scanner = new LeakScanner(shapes)
  return [...chunks.flatMap((chunk) => scanner.scan(chunk)), ...scanner.end()]
}

test('what is found by its shape is all that is found without one, however it is encoded and cut', () => {
  const chance = chances('leaks')
  const pick = (among: number) => Math.floor(chance() * among)
  for (let run = 0; run < 300; run++) {
    const text = Array.from({ length: 1 + pick(40) }, () => PIECES[pick(PIECES.length)]).join('')
    const bytes = [Buffer.from(text), Buffer.from(text, 'utf16le'), Buffer.from(`\ufeff${text}`, 'utf16le')][pick(3)]
    assert.ok(bytes !== undefined)
    const cut = pick(bytes.length + 1)
    const wanted = scan('any', bytes).filter(() => pick(3) === 0)
    const shapes = shapesOf(...wanted.map(({ text: credential }) => credential))
    const found = scan(shapes, bytes.subarray(0, cut), bytes.subarray(cut))
    for (const { text: credential, line } of wanted) {
      assert.ok(
        found.some((each) => each.text === credential && each.line <= line),
        `${JSON.stringify(credential)} in ${JSON.stringify(text)} cut at ${cut}`,
      )
    }
  }
})

test('what has another length, or other last characters, is no candidate', () => {
  const text = Buffer.from('key=abcdefgh; key=abcdefghi; key=xbcdefgh; key=abcdefgx')
  assert.deepEqual(
    scan(shapesOf('abcdefgh'), text).map((each) => each.text),
    ['abcdefgh', 'xbcdefgh'],
  )
  const open = new Shapes()
  open.add(8, undefined)
  assert.deepEqual(
    scan(open, text).map((each) => each.text),
    ['abcdefgh', 'xbcdefgh', 'abcdefgx'],
  )
})

test('a byte order mark of which one byte arrives first is one', () => {
  const bytes = Buffer.from('\ufeffhunter2\n', 'utf16le')
  assert.deepEqual(scan(shapesOf('hunter2'), bytes.subarray(0, 1), bytes.subarray(1)), [{ text: 'hunter2', line: 1 }])
})

describe('an encoded credential is a candidate', () => {
  const [ours, imported] = [newCredential('tok'), 'SG.a1b2/c3-d4+e5f6']
  const everyLetter = (text: string, write: (code: string) => string) =>
    [...text].map((letter) => write(letter.charCodeAt(0).toString(16).padStart(2, '0'))).join('')
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const encodings: readonly [string, (credential: string) => string][] = [
    ['percent-encoded', (it) => `https://x.example/?to=${encodeURIComponent(`k=${it}&page=2`)}`],
    ['percent-encoded twice', (it) => encodeURIComponent(encodeURIComponent(`"${it}"`))],
    ['percent-encoded in every letter', (it) => everyLetter(it, (code) => `%${code}`)],
    ['in JSON with an escape for every letter', (it) => `{"t":"${everyLetter(it, (code) => `\\u00${code}`)}"}`],
    ['in JSON with escaped slashes', (it) => `{"t":"${it.replaceAll('/', '\\/')}"}`],
    ['in base64', (it) => base64(it)],
    ['in base64 after one letter', (it) => base64(`:${it}`)],
    ['in base64 after two letters', (it) => base64(`: ${it} and more`)],
    ['in the alphabet of base64 for URLs', (it) => Buffer.from(`{"?":"${it}"}>>>???`).toString('base64url')],
    ['in base64 after a path', (it) => `/path/to/a/${base64(`v=${it}`)}/more`],
    ['in base64, the password of HTTP Basic', (it) => `Authorization: Basic ${base64(`user:${it}`)}`],
    ['in base64 in a URL', (it) => `?state=${encodeURIComponent(base64(JSON.stringify({ token: it })))}`],
    ['in base64 in base64', (it) => base64(`secret: ${base64(it)}`)],
    ['in base64 of UTF-16', (it) => Buffer.from(`$env:KEY='${it}'`, 'utf16le').toString('base64')],
    ['in base64 of several lines', (it) => base64(`${'A=1\n'.repeat(30)}${it}\n`).replace(/.{76}/g, '$&\n')],
    ['in base64 of indented lines', (it) => base64(`# a\n# b\n${it}\n${it}`).replace(/.{64}/g, '$&\r\n    ')],
  ]
  const scanned = (bytes: Buffer, ...shapes: readonly Shapes[]) =>
    [...shapes, 'any' as const].map((each) => scan(each, bytes).map(({ text }) => text))
  for (const [how, encode] of encodings) {
    test(how, () => {
      for (const credential of [ours, imported]) {
        for (const context of ['', 'x\n', 'a="1", b=']) {
          const text = `first ${context}${encode(credential)}\nlast`
          for (const bytes of [Buffer.from(text), Buffer.from(`\ufeff${text}`, 'utf16le')]) {
            for (const found of scanned(bytes, shapesOf(imported))) assert.ok(found.includes(credential), text)
          }
        }
      }
    })
  }

  test('wherever the text is cut into chunks, at the line in which it stands', () => {
    const text = Buffer.from(`one\n${base64(`user:${imported}`)}\n${encodeURIComponent(` ${imported}`)}\n`)
    for (let at = 0; at <= text.length; at++) {
      const found = scan(shapesOf(imported), text.subarray(0, at), text.subarray(at))
      assert.deepEqual(
        new Set(found.map(({ text, line }) => `${line} ${text}`)),
        new Set([`2 ${imported}`, `3 ${imported}`]),
      )
    }
  })

  test('in a megabyte of base64, with and without line ends', () => {
    const long = base64(`${'0123456789abcde\n'.repeat(40_000)}${imported}\n${'fedcba9876543210'.repeat(20_000)}`)
    for (const bytes of [long, long.replace(/.{76}/g, '$&\n')].map((text) => Buffer.from(text))) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / 60_000) }, (_, n) =>
        bytes.subarray(n * 60_000, (n + 1) * 60_000),
      )
      assert.deepEqual([...new Set(scan(shapesOf(imported), ...pieces).map(({ text }) => text))], [imported])
    }
  })
})

test('of what looks like a credential of ours, only what has the right checksum is a candidate', () => {
  const real = newCredential('tok')
  const fake = `${real.slice(0, -1)}${real.endsWith('x') ? 'y' : 'x'}`
  assert.deepEqual(scan(new Shapes(), Buffer.from(`${fake} ${real}x ${fake}`)), [{ text: real, line: 1 }])
})

test('a credential of which only the end is known is a candidate', () => {
  const shapes = new Shapes()
  shapes.addEnd('c-d4')
  const text = Buffer.from('key=live/0123456789abc-d4; other=live/0123456789abc-d5; short.c-d4\n')
  assert.deepEqual(
    scan(shapes, text).map((each) => each.text),
    ['', '/', 'live/', '=live/', 'key=live/'].map((before) => `${before}0123456789abc-d4`),
  )
})
