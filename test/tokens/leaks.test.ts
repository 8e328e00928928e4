// The search for credentials in a text: what is a candidate, and how much there is to do, whatever the text is.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { candidatesIn, OVERLAP, SLICE, WHOLE_LINES } from '../../src/tokens/leaks/candidates.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { chances } from '../support/seed.ts'

/** With the line in which each was found first. */
async function search(chunks: readonly Uint8Array[], readings?: typeof WHOLE_LINES): Promise<Map<string, number>> {
  const found: [string, number][] = []
  for await (const batch of candidatesIn(chunks, readings && { readings })) found.push(...batch)
  return new Map(found)
}

const searchText = async (text: string) => search([Buffer.from(text)])

const [ours, imported] = [newCredential('tok'), 'SG.a1b2/c3-d4+e5f6==']
const base64 = (text: string) => Buffer.from(text).toString('base64')

describe('one of our own is a candidate', () => {
  const encodings: readonly [string, (credential: string) => string][] = [
    ['as it is', (it) => it],
    ['next to other letters', (it) => `x${it}y${it}`],
    ['percent-encoded in every letter', (it) => it.replace(/./gs, (each) => `%${each.charCodeAt(0).toString(16)}`)],
    ['between percent-encoded letters', (it) => `?to=k%3D${it}%26page%3D2`],
    ['percent-encoded in its underscores', (it) => it.replaceAll('_', '%5f')],
    ['in base64', (it) => base64(it)],
    ['in base64 after one letter', (it) => base64(`:${it}`)],
    ['in base64 after two letters', (it) => base64(`: ${it} and more`)],
    ['in the alphabet of base64 for URLs', (it) => Buffer.from(`{"?":"${it}"}>>>???`).toString('base64url')],
    ['in base64 after a path', (it) => `/path/to/a/${base64(`v=${it}`)}/more`],
    ['in base64, the password of HTTP Basic', (it) => `Authorization: Basic ${base64(`user:${it}`)}`],
    [
      'in a line of base64 of a hundred thousand letters',
      (it) => base64(`${'a'.repeat(40_000)}${it}${'b'.repeat(35_000)}`),
    ],
    ['in a word of a hundred thousand letters', (it) => `${'ab.'.repeat(20_000)}${it}${'ab.'.repeat(14_000)}`],
  ]
  for (const [how, encode] of encodings) {
    test(how, async () => {
      const found = await searchText(`first\nx="${encode(ours)}"\nlast`)
      assert.equal(found.get(ours), 2)
    })
  }

  test('only with the right checksum', async () => {
    const fake = `${ours.slice(0, -1)}${ours.endsWith('x') ? 'y' : 'x'}`
    const found = await searchText(`${fake} x${fake} ${base64(fake)} ${encodeURIComponent(`"${fake}"`)}`)
    assert.deepEqual(
      [...found.keys()].filter((each) => each.startsWith('lk_')),
      [],
    )
  })
})

describe('an imported one is a candidate as a whole word', () => {
  for (const write of [
    (it: string) => it,
    (it: string) => `export KEY=${it}`,
    (it: string) => `KEY="${it}"\r`,
    (it: string) => JSON.stringify({ a: [it] }),
    (it: string) => JSON.stringify(JSON.stringify({ a: it })),
    (it: string) => `https://x.example/v1?key=${it}&page=2`,
    (it: string) => `curl -H 'Authorization: Bearer ${it}'`,
    (it: string) => `<code>${it}</code>, (${it}); \`${it}\``,
    (it: string) => `\0${it}\u00e9`,
    (it: string) => `${'{"a":"b"},'.repeat(10_000)}{"k":"${it}"}${',{"a":"b"}'.repeat(10_000)}`,
  ]) {
    test(write('…').slice(0, 40), async () =>
      assert.equal((await searchText(`\n\n${write(imported)}\n`)).get(imported), 3),
    )
  }

  test('and neither encoded, nor as a part of a word', async () => {
    const encoded = [base64(`user:${imported}`), encodeURIComponent(imported), `x.${imported}`, `${imported}.`]
    assert.equal((await searchText(encoded.join('\n'))).has(imported), false)
  })

  test('of a report, alone on a line', async () => {
    const text = `key=${imported}\n  ${imported}.1\r\n${imported}.2 x\n${ours}x\n`
    const found = await search([Buffer.from(text)], WHOLE_LINES)
    const expected = [
      [`key=${imported}`, 1],
      [`${imported}.1`, 2],
      [ours, 4],
    ]
    assert.deepEqual([...found], expected)
  })
})

test('what is found does not depend on how the text is cut', async () => {
  const chance = chances('leaks')
  const pick = (among: number) => Math.floor(chance() * among)
  const parts = [
    'a',
    'Z9',
    '_',
    '=',
    '%3D',
    '\\',
    '"',
    ',',
    ' ',
    '\n',
    '\0',
    'é',
    'lk_tok_',
    'x.y'.repeat(300),
    ours,
    imported,
  ]
  for (let run = 0; run < 50; run++) {
    const text = Buffer.from(Array.from({ length: 500 }, () => parts[pick(parts.length)]).join(''))
    const cuts = Array.from({ length: pick(5) }, () => pick(text.length)).toSorted((one, other) => one - other)
    const chunks = [0, ...cuts].map((from, n) => text.subarray(from, cuts[n]))
    const found = await search([text])
    assert.deepEqual(await search(chunks), found)
    // In lines that are shorter than what overlaps, nothing depends on where pieces begin and end.
    const lines = text.toString('latin1').split('\n')
    for (const [number, line] of lines.entries()) {
      if (line.length > OVERLAP - 2) continue
      for (const credential of (await search([Buffer.from(line, 'latin1')])).keys()) {
        assert.ok((found.get(credential) ?? Number.POSITIVE_INFINITY) <= number + 1, credential)
      }
    }
  }
})

describe('whatever the text is, what is to be done grows with its length only', () => {
  const LENGTH = 16 * SLICE
  const valid = Array.from({ length: 500 }, () => newCredential('key')).join('')
  const hostile: readonly [string, string][] = [
    ['separators', ','.repeat(LENGTH)],
    ['ends of line', '\n'.repeat(LENGTH)],
    ['word characters', 'a'.repeat(LENGTH)],
    ['equals signs', '='.repeat(LENGTH)],
    ['punctuation', '.'.repeat(LENGTH)],
    ['letters and punctuation in turn', 'a.'.repeat(LENGTH / 2)],
    ['letters and equals signs in turn', 'a='.repeat(LENGTH / 2)],
    ['letters and separators in turn', 'a,'.repeat(LENGTH / 2)],
    ['percent signs', '%'.repeat(LENGTH)],
    ['percent-encoded percent signs', '%25'.repeat(LENGTH / 3)],
    ['backslashes', '\\'.repeat(LENGTH)],
    ['zeros', '\0'.repeat(LENGTH)],
    ['base64 of base64', base64(base64('lk_tok_'.repeat(LENGTH / 16)))],
    ['beginnings of ours', 'lk_tok_'.repeat(LENGTH / 7)],
    ['ours without an end', `lk_tok_${'lk'.repeat(LENGTH / 2)}`],
    ['many of ours', valid.repeat(Math.ceil(LENGTH / valid.length)).slice(0, LENGTH)],
    [
      'words that are all different',
      Array.from({ length: LENGTH / 6 }, (_, n) => n.toString(36).padStart(5, 'x')).join(' '),
    ],
    [
      'values that are all different',
      Array.from({ length: LENGTH / 8 }, (_, n) => `=${n.toString(36).padStart(6, 'x')}`).join(','),
    ],
  ]
  for (const [what, text] of hostile) {
    for (const readings of [undefined, WHOLE_LINES]) {
      test(`${what}, ${readings ? 'in whole lines' : 'in words'}`, async () => {
        let [letters, most, pauses] = [0, 0, 0]
        let isOver = false
        const countPauses = () => {
          pauses++
          if (!isOver) setImmediate(countPauses)
        }
        setImmediate(countPauses)
        for await (const batch of candidatesIn([Buffer.from(text)], readings && { readings })) {
          most = Math.max(most, batch.size)
          for (const candidate of batch.keys()) letters += candidate.length
        }
        isOver = true
        // Words, and what follows the equals sign of one; pieces overlap.
        const read = 2 * text.length * (SLICE / (SLICE - OVERLAP))
        assert.ok(letters <= read, `${letters} letters of candidates in ${text.length}`)
        assert.ok(most <= 500, `${most} at once`)
        assert.ok(pauses >= Math.floor(text.length / SLICE), `${pauses} pauses`)
      })
    }
  }
})

test('a text in UTF-16 is refused: nothing would be found in it', async () => {
  const bytes = Buffer.from(`\ufeff${ours}\n`, 'utf16le')
  const swapped = Buffer.from(bytes).swap16()
  for (const text of [[bytes], [bytes.subarray(0, 1), bytes.subarray(1)], [swapped]]) {
    await assert.rejects(search(text), { code: 'invalid-request', message: /UTF-16/ })
  }
  assert.equal((await search([Buffer.from(`\ufeff${imported}`)])).get(imported), 1)
})
