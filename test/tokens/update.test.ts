// What a body may ask for (decisions, part 5), and what a change makes of a record.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Failure } from '../../src/tokens/errors.ts'
import { parseTime } from '../../src/tokens/model/times.ts'
import type { SubAccount, TokenRecord } from '../../src/tokens/model/token.ts'
import {
  applySubAccountUpdate,
  applyUpdate,
  readNewSubAccount,
  readNewToken,
  readSubAccountPatch,
  readTokenUpdate,
} from '../../src/tokens/model/update.ts'

function refusalOf(read: () => unknown): Failure {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof Failure)
    assert.equal(error.code, 'invalid-request')
    return error
  }
  return assert.fail('not refused')
}

const NOTHING_VALID = 'No valid fields to update'
const BAD_STATUS = 'status must be active or inactive'
const CONTROL = 'name must not contain control, line or text-direction characters'
const TOO_LONG = 'name must be 1 to 255 characters'

describe('the body of an update', () => {
  const accepted: [unknown, object][] = [
    [{ name: 'x' }, { name: 'x' }],
    [{ name: '  x \n' }, { name: 'x' }],
    [{ name: 'e\u0301' }, { name: 'é' }],
    [{ name: '🗝'.repeat(255) }, { name: '🗝'.repeat(255) }],
    [{ status: 'active' }, { status: 'active' }],
    [{ status: 'inactive' }, { status: 'inactive' }],
    [
      { name: 'x', status: 'inactive' },
      { name: 'x', status: 'inactive' },
    ],
    [{ name: 'x', _id: 1, token: 2, createdAt: 3, subAccount: 4, other: 5 }, { name: 'x' }],
    [{ name: 'x', status: undefined }, { name: 'x' }],
    [JSON.parse('{"name": "x", "__proto__": {"status": "inactive"}}'), { name: 'x' }],
  ]
  for (const [body, change] of accepted) {
    test(`${JSON.stringify(body).slice(0, 60)} is read as ${JSON.stringify(change).slice(0, 60)}`, () => {
      assert.deepEqual(readTokenUpdate(body), change)
    })
  }

  const refused: [unknown, string][] = [
    ...[{}, [], null, undefined, 'name', '', 5, true, [{ name: 'x' }]].map((body): [unknown, string] => [
      body,
      NOTHING_VALID,
    ]),
    ...['', '   ', '\n', 5, null, true, [], {}, ['x']].map((name): [unknown, string] => [{ name }, NOTHING_VALID]),
    ...['paused', 'ACTIVE', '', null, 5, true, [], ['active']].map((status): [unknown, string] => [
      { status },
      NOTHING_VALID,
    ]),
    [{ name: '', status: 'paused' }, NOTHING_VALID],
    [{ _id: 'x', token: 'y', createdAt: 'z', subAccount: {} }, NOTHING_VALID],
    [Object.create({ name: 'inherited' }), NOTHING_VALID],
    [{ name: 'x', status: 'paused' }, BAD_STATUS],
    [{ name: 'x', status: null }, BAD_STATUS],
    [{ name: 5, status: 'inactive' }, 'name must be a string'],
    [{ name: null, status: 'inactive' }, 'name must be a string'],
    [{ name: ' ', status: 'inactive' }, 'name must not be empty'],
    [{ name: 'x'.repeat(256) }, TOO_LONG],
    [{ name: '🗝'.repeat(256) }, TOO_LONG],
    [{ name: 'x'.repeat(256), status: 'inactive' }, TOO_LONG],
    [{ name: 'x'.repeat(256), status: 'paused' }, TOO_LONG],
    [{ name: 'a\u0000b' }, CONTROL],
    [{ name: 'a\nb' }, CONTROL],
    [{ name: 'a\u007fb' }, CONTROL],
    [{ name: 'a\u0085b' }, CONTROL],
    [{ name: 'a\u2028b' }, CONTROL],
    [{ name: 'a\u202eb' }, CONTROL],
    [{ name: 'a\u2066b' }, CONTROL],
    [{ name: '\ud800' }, 'name must be well-formed Unicode'],
  ]
  for (const [body, message] of refused) {
    test(`${JSON.stringify(body)?.slice(0, 60)} is refused: ${message}`, () => {
      assert.equal(refusalOf(() => readTokenUpdate(body)).message, message)
    })
  }

  test('that has no valid field is told what is wrong with each', () => {
    assert.deepEqual(refusalOf(() => readTokenUpdate({ name: 5, status: 'paused' })).details, [
      { field: 'name', message: 'name must be a string' },
      { field: 'status', message: BAD_STATUS },
    ])
    assert.deepEqual(refusalOf(() => readTokenUpdate({})).details, [
      { field: 'name', message: 'name was not sent' },
      { field: 'status', message: 'status was not sent' },
    ])
  })

  test('that has one valid field is told of the other only', () => {
    const { details } = refusalOf(() => readTokenUpdate({ name: 'x', status: 'paused' }))
    assert.deepEqual(details, [{ field: 'status', message: BAD_STATUS }])
  })
})

describe('the body of a creation', () => {
  const base = { subAccountId: 'sub_1', name: 'CI' }

  test('needs a sub-account and a name, and may have a status and an expiry', () => {
    assert.deepEqual(readNewToken(base), base)
    const whole = { ...base, status: 'inactive', expiresAt: '2030-01-31T12:00:00+01:00' }
    assert.deepEqual(readNewToken(whole), { ...whole, expiresAt: Date.UTC(2030, 0, 31, 11) })
    assert.deepEqual(readNewToken({ ...base, expiresAt: null }), { ...base, expiresAt: null })
  })

  test('is refused with a reason for each wrong field', () => {
    for (const [body, message] of [
      [{}, 'subAccountId is required'],
      [null, 'subAccountId is required'],
      [{ subAccountId: 'sub_1' }, 'name is required'],
      [{ ...base, subAccountId: 5 }, 'subAccountId must be a string'],
      [{ ...base, name: '' }, 'name must not be empty'],
      [{ ...base, name: 'a\u0007' }, CONTROL],
      [{ ...base, status: 'paused' }, BAD_STATUS],
      [{ ...base, expiresAt: 5 }, 'expiresAt must be an ISO 8601 time with its zone, such as 2030-01-31T12:00:00Z'],
    ] as const) {
      assert.equal(refusalOf(() => readNewToken(body)).message, message)
    }
  })

  test('of a sub-account needs name, e-mail and company name', () => {
    const fields = { name: 'Branch', email: 'a@b.example', companyName: 'Ltd' }
    assert.deepEqual(readNewSubAccount({ ...fields, _id: 'mine' }), fields)
    for (const field of ['name', 'email', 'companyName']) {
      const { message } = refusalOf(() => readNewSubAccount({ ...fields, [field]: undefined }))
      assert.equal(message, `${field} is required`)
    }
    for (const email of ['nobody', '@', 'a@', '@b', 'a@b@c', 'a b@c']) {
      assert.equal(refusalOf(() => readNewSubAccount({ ...fields, email })).message, 'email must be an e-mail address')
    }
  })

  test('of a change of a sub-account follows the rules of an update', () => {
    assert.deepEqual(readSubAccountPatch({ status: 'suspended', name: 'x' }), { status: 'suspended', name: 'x' })
    assert.equal(refusalOf(() => readSubAccountPatch({})).message, NOTHING_VALID)
    const { message } = refusalOf(() => readSubAccountPatch({ name: 'x', status: 'inactive' }))
    assert.equal(message, 'status must be active or suspended')
  })
})

describe('a time', () => {
  test('is a date that exists, with hour, minute and zone', () => {
    for (const text of ['2030-01-31T12:00Z', '2030-01-31T12:00:00Z', '2030-01-31T12:00:00.000Z', '2028-02-29T00:00Z']) {
      assert.equal(parseTime(text), Date.parse(text))
    }
    assert.equal(parseTime('2030-01-31T12:00:00.123456789Z'), Date.UTC(2030, 0, 31, 12, 0, 0, 123))
    assert.equal(parseTime('2030-01-31T12:00:00-05:30'), Date.UTC(2030, 0, 31, 17, 30))
    for (const text of ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999+14:00', '0000-01-01T00:00Z']) {
      assert.equal(parseTime(text), Date.parse(text))
    }
  })

  test('is nothing else', () => {
    for (const text of [
      ...['', 'tomorrow', '2030', '2030-01-31', '2030-01-31T12:00:00', '2030-01-31 12:00:00Z', '1900000000'],
      ...['2030-13-01T00:00Z', '2030-00-01T00:00Z', '2030-01-32T00:00Z', '2030-01-01T25:00Z', '2030-01-01T00:60Z'],
      ...['2030-02-30T00:00:00Z', '2030-04-31T00:00:00Z', '2027-02-29T00:00:00Z', '2030-01-01T00:00:00+25:00'],
      // In UTC they are of a year that has no four digits.
      ...['9999-12-31T23:59:59.999-23:59', '9999-12-31T23:59:00-00:01', '0000-01-01T00:00:00+00:01'],
    ]) {
      assert.equal(parseTime(text), undefined, text)
    }
  })
})

describe('a change of a record', () => {
  const token: TokenRecord = {
    id: 'tok_1',
    accountId: 'acc_1',
    subAccountId: 'sub_1',
    name: 'before',
    status: 'active',
    createdAt: 1,
    expiresAt: null,
    version: 3,
    digest: Buffer.from('d'),
    sealed: Buffer.from('s'),
    masked: null,
    metadata: null,
    tags: null,
    policy: null,
  }

  test('changes what it names, and counts once', () => {
    assert.deepEqual(applyUpdate(token, { name: 'after' }), { ...token, name: 'after', version: 4 })
    assert.deepEqual(applyUpdate(token, { status: 'inactive' }), { ...token, status: 'inactive', version: 4 })
    const both = { name: 'after', status: 'inactive' } as const
    assert.deepEqual(applyUpdate(token, both), { ...token, ...both, version: 4 })
  })

  test('that changes nothing gives the very same record', () => {
    for (const change of [
      {},
      { name: 'before' },
      { status: 'active' },
      { name: 'before', status: 'active' },
    ] as const) {
      assert.equal(applyUpdate(token, change), token)
    }
  })

  test('leaves the record it was given as it was', () => {
    const frozen = Object.freeze({ ...token })
    applyUpdate(frozen, { name: 'after', status: 'inactive' })
    assert.deepEqual(frozen, token)
  })

  test('of a sub-account suspends once, and resumes', () => {
    const free: SubAccount = {
      id: 'sub_1',
      accountId: 'acc_1',
      name: 'n',
      email: 'a@b',
      companyName: 'c',
      createdAt: 1,
      suspendedAt: null,
      policy: null,
      metadata: null,
    }
    const suspended = { ...free, suspendedAt: 5 }
    assert.deepEqual(applySubAccountUpdate(free, { status: 'suspended' }, 5), suspended)
    assert.equal(applySubAccountUpdate(suspended, { status: 'suspended' }, 9), suspended)
    assert.deepEqual(applySubAccountUpdate(suspended, { status: 'active' }, 9), free)
    assert.equal(applySubAccountUpdate(free, { status: 'active' }, 9), free)
    assert.deepEqual(applySubAccountUpdate(suspended, { name: 'x' }, 9), { ...suspended, name: 'x' })
  })
})
