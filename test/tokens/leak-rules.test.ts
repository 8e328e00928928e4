// The rules of docs/guides/leaks.md for scanners: all credentials are found, and nothing that only looks like one.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { chances } from '../support/seed.ts'

const docs = join(import.meta.dirname, '..', '..', 'docs')
const read = (file: string) => readFileSync(join(docs, file), 'utf8')

/** Of a table in Markdown, in which a bar is written with a backslash. */
const [, secret = '', before = '', afterSecret = ''] =
  /secret format `([^`]+)`, before and after the secret `([^`]+)` and `([^`]+)`/.exec(
    read('guides/leaks.md').replaceAll('\\|', '|'),
  ) ?? []
/** `\A` and `\z` are the beginning and the end of the text. */
const github = `(?:${before.replace('\\A', '^')})(${secret})(?:${afterSecret.replace('\\z', '$')})`

const [gitleaksToken = '', gitleaksKey = ''] = [...read('leaks/gitleaks.toml').matchAll(/^regex = '''(.*)'''$/gm)].map(
  ([, expression]) => expression as string,
)
const [, trufflehog = ''] = /^ {6}token: (.*)$/m.exec(read('leaks/trufflehog.yaml')) ?? []

/** The words of Go and Hyperscan in these expressions mean the same here, but for the ends of lines. */
const rules: readonly [string, string, readonly ('tok' | 'key')[]][] = [
  ['gitleaks, tokens', gitleaksToken, ['tok']],
  ['gitleaks, account keys', gitleaksKey, ['key']],
  ['TruffleHog', trufflehog, ['tok']],
  ['GitHub', github, ['tok', 'key']],
]

const chance = chances('look-alikes')
const pick = (among: number) => Math.floor(chance() * among)
const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const letters = (length: number) => Array.from({ length }, () => LETTERS[pick(62)]).join('')

const LOOK_ALIKES: readonly (() => string)[] = [
  () => `lk_tok_${letters(48)}`,
  () => `lk_tok_${letters(50)}`,
  () => `lk_key_${letters(20)}-${letters(28)}`,
  () => `lk_tok_${letters(24)}_${letters(24)}`,
  () => `xlk_tok_${letters(49)}`,
  () => `_lk_key_${letters(49)}`,
  () => `lk_tok_${letters(49)}_`,
  () => `LK_TOK_${letters(49)}`,
  () => `lk-tok-${letters(49)}`,
  () => `lk_ref_${letters(49)}`,
  () => `ghp_${letters(36)}`,
  () => `sk_live_${letters(49)}`,
  () => createHash('sha256').update(letters(8)).digest('hex'),
  () => `${letters(20)}.${letters(40)}.${letters(43)}`,
]

describe('in a text with 1,000 credentials and 100,000 look-alikes', () => {
  const real = { tok: Array.from({ length: 500 }, () => newCredential('tok')), key: [] as string[] }
  real.key = Array.from({ length: 500 }, () => newCredential('key'))
  const words = [
    ...real.tok,
    ...real.key,
    ...Array.from({ length: 100_000 }, (_, n) => (LOOK_ALIKES[n % LOOK_ALIKES.length] as () => string)()),
  ]
  for (let at = words.length - 1; at > 0; at--) {
    const other = pick(at + 1)
    ;[words[at], words[other]] = [words[other] as string, words[at] as string]
  }
  const quotes = ['"', "'", ' ', '=', ':', '\n', '/', ',']
  const text = words.map((word) => `${quotes[pick(quotes.length)]}${word}${quotes[pick(quotes.length)]}\n`).join('')

  for (const [name, expression, kinds] of rules) {
    test(`${name}: all are found, and none else`, () => {
      assert.notEqual(expression, '')
      const found = [...text.matchAll(new RegExp(expression, 'g'))].map(([all, group]) => group ?? all)
      assert.deepEqual(new Set(found), new Set(kinds.flatMap((kind) => real[kind])))
    })
  }
})
