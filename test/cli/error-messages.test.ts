import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainError } from '../../src/cli/terminal/error-messages.ts'

const trouble = (message: string, fields: object) => explainError(Object.assign(new Error(message), fields))

test('trouble with a folder, an address or a role is told with what to do about it', () => {
  assert.match(trouble('EROFS: read-only', { code: 'EROFS', syscall: 'open' }) ?? '', /^EROFS.*LATCHKEY_DATA_DIR/)
  assert.match(trouble('unable to open', { code: 'ERR_SQLITE_ERROR', errcode: 14 }) ?? '', /LATCHKEY_DATA_DIR/)
  assert.match(trouble('readonly', { code: 'ERR_SQLITE_ERROR', errcode: 1032 }) ?? '', /LATCHKEY_DATA_DIR/)
  for (const errcode of [11, 267, 26]) {
    assert.match(trouble('malformed', { code: 'ERR_SQLITE_ERROR', errcode }) ?? '', /^malformed\. .*latchkey restore/)
  }
  for (const errcode of [13, 10, 4874]) {
    assert.match(trouble('full', { code: 'ERR_SQLITE_ERROR', errcode }) ?? '', /^full\. .*disk/)
  }
  assert.match(trouble('listen EACCES', { code: 'EACCES', syscall: 'listen' }) ?? '', /HOST must be .* PORT/)
  assert.match(trouble('denied for x', { code: '42501' }) ?? '', /denied for x\. docs\/operate\/postgresql\.md/)
  assert.equal(
    trouble('cannot execute CREATE TABLE in a read-only transaction', { code: '25006' }),
    'PostgreSQL says: cannot execute CREATE TABLE in a read-only transaction.',
  )
  assert.match(trouble('terminated', { name: 'ConnectionLost' }) ?? '', /was lost: terminated\. .*again/)
  assert.match(trouble('Invalid URL', { code: 'ERR_INVALID_URL' }) ?? '', /^DATABASE_URL is not/)
})

test('other trouble of the system is told as it is', () => {
  assert.equal(
    trouble('EMFILE: too many open files', { code: 'EMFILE', syscall: 'open' }),
    'EMFILE: too many open files',
  )
})

test('a fault of ours keeps its stack', () => {
  assert.equal(trouble('x is not a function', {}), undefined)
  assert.equal(trouble('syntax error', { code: '42601' }), undefined)
  assert.equal(trouble('no such column', { code: 'ERR_SQLITE_ERROR', errcode: 1 }), undefined)
  assert.equal(explainError('thrown'), undefined)
})
