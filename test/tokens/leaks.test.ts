// The search for credentials in a text: what is a candidate, whatever is known of the credentials.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Candidate, LeakScanner } from '../../src/tokens/leaks/scanner.ts'
import { Shapes } from '../../src/tokens/leaks/shapes.ts'
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
