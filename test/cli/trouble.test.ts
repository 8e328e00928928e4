import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tellTrouble } from '../../src/cli/trouble.ts'

const trouble = (message: string, fields: object) => tellTrouble(Object.assign(new Error(message), fields))

test('trouble with a folder, an address or a role is told with what to do about it', () => {
  assert.match(trouble('EROFS: read-only', { code: 'EROFS', syscall: 'open' }) ?? '', /^EROFS.*LATCHKEY_DATA_DIR/)
  assert.match(trouble('unable to open', { code: 'ERR_SQLITE_ERROR', errcode: 14 }) ?? '', /LATCHKEY_DATA_DIR/)
  assert.match(trouble('readonly', { code: 'ERR_SQLITE_ERROR', errcode: 1032 }) ?? '', /LATCHKEY_DATA_DIR/)
  for (const errcode of [11, 267, 26]) {
    assert.match(trouble('malformed', { code: 'ERR_SQLITE_ERROR', errcode }) ?? '', /^malformed\. .*latchkey restore/)
  }
  for (const errcode of [13, 10, 4874]) {
    assert.match(trouble('full', { code: 'ERR_SQLITE_ERROR', errcode }) ?? '', /^full\. The disk has no room left/)
  }
  assert.match(trouble('listen EACCES', { code: 'EACCES', syscall: 'listen' }) ?? '', /HOST must be .* PORT/)
  assert.match(
    trouble('permission denied for table x', { code: '42501' }) ?? '',
    /denied for table x\. docs\/postgres\.md/,
  )
})

test('other trouble of the system is told as it is', () => {
  assert.equal(trouble('EISDIR: is a directory', { code: 'EISDIR', syscall: 'read' }), 'EISDIR: is a directory')
})

test('a fault of ours keeps its stack', () => {
  assert.equal(trouble('x is not a function', {}), undefined)
  assert.equal(trouble('no such column', { code: 'ERR_SQLITE_ERROR', errcode: 1 }), undefined)
  assert.equal(tellTrouble('thrown'), undefined)
})
