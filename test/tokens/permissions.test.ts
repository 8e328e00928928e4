// Stored permissions: what cannot be read gives nobody any right.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVERYTHING, parsePermissions, storePermissions } from '../../src/tokens/model/permissions.ts'

test('permissions are read as they were stored, and none stand for everything', () => {
  assert.deepEqual(parsePermissions(null), EVERYTHING)
  assert.equal(storePermissions(EVERYTHING), null)
  const some = { role: 'viewer', reveal: false, subAccounts: ['sub_1'] } as const
  assert.deepEqual(parsePermissions(storePermissions(some)), some)
})

test('permissions that cannot be read are refused, whatever is wrong with them', () => {
  const right = { role: 'viewer', reveal: false, subAccounts: null }
  for (const wrong of [
    ...[null, 'owner', [], {}],
    { ...right, role: 'root' },
    { ...right, reveal: 'no' },
    { ...right, subAccounts: 'sub_1' },
    { ...right, subAccounts: [1] },
  ]) {
    assert.throws(() => parsePermissions(JSON.stringify(wrong)), JSON.stringify(wrong))
  }
  assert.throws(() => parsePermissions('{'))
})
