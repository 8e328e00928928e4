// That digests and stamps are compared in constant time. The time itself is measured by npm run test:hostile.
import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { after, before, test } from 'node:test'
import { findByDigest } from '../../src/storage/sqlite/sql/lookups.ts'
import { Connection } from '../../src/storage/sqlite/sqlite-connection.ts'
import { toCandidate } from '../../src/tokens/trust/verdict.ts'
import { anAccount, openService, type TestService } from '../support/service.ts'

const { timingSafeEqual } = crypto
let service: TestService
let compared: Uint8Array[][] = []
before(async () => {
  service = await openService()
  crypto.timingSafeEqual = (left, right) => {
    compared.push([left as Uint8Array, right as Uint8Array])
    return timingSafeEqual(left, right)
  }
  syncBuiltinESMExports()
})
after(async () => {
  crypto.timingSafeEqual = timingSafeEqual
  syncBuiltinESMExports()
  await service.opened.close()
})

test('a digest is compared in constant time, and so is every stamp', async () => {
  const { caller, subAccount } = await anAccount(service)
  const fields = { subAccountId: subAccount.id, name: 'Real' }
  const { credential } = await service.registry.createToken(caller, fields, service.operator.origin())
  const { stamps, path } = service.opened
  const digest = stamps.digest(credential)
  const db = new Connection(path, 'read')
  const found = findByDigest(db, digest)
  db.close()
  assert.ok(found)
  const near = Buffer.from(digest)
  near[31] = (near[31] ?? 0) ^ 1
  compared = []
  assert.equal(toCandidate(found, near, stamps), undefined)
  assert.deepEqual(compared, [[found.token.digest, near]])
  compared = []
  assert.equal(toCandidate(found, digest, stamps)?.tampered, undefined)
  assert.equal(compared.length, 3)
})
