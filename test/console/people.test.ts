// What the console makes of a browser's name for itself, and of claims as they are typed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserName } from '../../console/src/people/browser-name.ts'
import { readClaims } from '../../console/src/people/entered-claims.ts'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko)'
const NAMES: Readonly<Record<string, string>> = {
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0': 'Firefox on Linux',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36`]: 'Chrome on Windows',
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0`]:
    'Edge on Windows',
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT} Chrome/140.0.0.0 Mobile Safari/537.36`]: 'Chrome on Android',
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15':
    'Safari on macOS',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 Version/18.6 Mobile/15E148 Safari/604.1':
    'Safari on iPhone',
  'curl/8.5.0': 'Unknown',
  '': 'Unknown',
}

test('a browser is named in short, also one that names others in its text', () => {
  for (const [userAgent, name] of Object.entries(NAMES)) assert.equal(browserName(userAgent), name)
  assert.equal(browserName(null), 'Unknown')
})

test('claims are JSON, or a claim and its value on each line; what is neither is refused', () => {
  assert.deepEqual(readClaims(' {"groups": ["a"], "n": 1}'), { groups: ['a'], n: 1 })
  assert.deepEqual(readClaims('groups: a\n\ngroups = b \r\nsite: https://x.example/?a=b'), {
    groups: ['a', 'b'],
    site: 'https://x.example/?a=b',
  })
  for (const wrong of ['', '  \n', 'groups', 'groups:', ': a', '{', '{"a": 1', 'a: b\nc']) {
    assert.equal(readClaims(wrong), undefined, wrong)
  }
})
