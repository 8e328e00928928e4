// Updating: service 4.4 and 7, decisions part 5.
import assert from 'node:assert/strict'
import type { Estate } from '../support/estate.ts'
import { bearer } from '../support/http.ts'
import { unknownTokens, wire } from './list.scenarios.ts'
import { failure, invalid, invalidFields, NOT_FOUND, playedOnce, refusal, type Scenario, success } from './scenario.ts'

const TOKEN = '/api/v1/apiClient/token'
const put = (estate: Estate, id: string, body: unknown, headers: readonly (readonly [string, string])[] = []) => ({
  method: 'PUT',
  path: `${TOKEN}/${id}`,
  headers: [bearer(estate.mine.key), ...headers],
  body,
})

async function unchanged(estate: Estate, id: string, before: { name: string; status: string }): Promise<void> {
  const { operator, registry } = estate.running
  const token = await registry.getToken(operator.actFor(estate.mine.accountId), id)
  assert.deepEqual([token.name, token.status, token.version], [before.name, before.status, 1])
}

/** What an answer says of a field. */
type Problem = readonly [field: string, reason: RegExp]

/** A body that is refused: what the caller is told, and that nothing was changed. */
function refused(name: string, body: unknown, reason: RegExp, problems?: readonly Problem[]): Scenario {
  let asked = { id: '', name: '', status: '' }
  return {
    name,
    async ask(estate) {
      const token = await estate.token()
      asked = token
      return put(estate, token.id, body)
    },
    status: 400,
    async body(heard, estate) {
      invalidFields(reason)(heard)
      if (problems !== undefined) {
        const { details } = heard.json.error
        const messages: string[] = details.map(({ message }: { message: string }) => message)
        assert.deepEqual(
          details,
          problems.map(([field], n) => ({ field, message: messages[n] })),
        )
        for (const [n, [, about]] of problems.entries()) assert.match(messages[n] ?? '', about)
      }
      await unchanged(estate, asked.id, asked)
    },
  }
}

const EMPTY = /^name .*empty/
const LONG = /^name .*1 to 255 characters/
const STEERING = /^name .*control/
const NONE = /^No valid fields to update$/
const missing = (field: string): Problem => [field, new RegExp(`^${field} .*not sent`)]
const BAD_STATUS: Problem = ['status', /^status .*active or inactive/]
const NO_TEXT: Problem = ['name', /^name .*string/]

const noValidField: readonly [string, unknown, (readonly Problem[])?][] = [
  ['{}', {}, [missing('name'), missing('status')]],
  ['[]', []],
  ['null', 'null'],
  ['a string', '"name"'],
  ['a number', '5'],
  ['true', 'true'],
  ['a list of a body', [{ name: 'x' }]],
  ['only unknown fields', { _id: 'tok_x', token: 'stolen', createdAt: 0 }],
  ['an empty name', { name: '' }, [['name', EMPTY], missing('status')]],
  ['a name of white space', { name: ' \t ' }],
  ['a number as name', { name: 5 }, [NO_TEXT, missing('status')]],
  ['null as name', { name: null }],
  ['a list as name', { name: ['x'] }],
  ['an unknown status', { status: 'paused' }, [missing('name'), BAD_STATUS]],
  ['null as status', { status: null }, [missing('name'), BAD_STATUS]],
  ['an empty status', { status: '' }],
  ['a status in capitals', { status: 'INACTIVE' }],
  ['a list as status', { status: ['inactive'] }],
  ['both fields wrong', { name: 5, status: 'paused' }, [NO_TEXT, BAD_STATUS]],
]

const badNames: readonly [string, string, RegExp][] = [
  ['256 characters', 'a'.repeat(256), LONG],
  ['256 emoji', '😀'.repeat(256), LONG],
  ['a NUL', 'a\u0000b', STEERING],
  ['an escape', 'a\u001bb', STEERING],
  ['a line feed inside', 'a\nb', STEERING],
  ['a delete', 'a\u007fb', STEERING],
  ['a C1 control', 'a\u0085b', STEERING],
  ['a line separator', 'a\u2028b', STEERING],
  ['a right-to-left override', 'a\u202eb', STEERING],
  ['a bidi isolate', 'a\u2066b', STEERING],
  ['a right-to-left mark', 'a\u200fb', STEERING],
]

const goodNames: readonly [string, string, string][] = [
  ['255 characters', 'n'.repeat(255), 'n'.repeat(255)],
  ['255 emoji', '😀'.repeat(255), '😀'.repeat(255)],
  ['spaces at both ends', '  trimmed  ', 'trimmed'],
  ['a decomposed letter', 'Cafe\u0301 de', 'Café de'],
  ['right-to-left letters', 'שלום', 'שלום'],
  ['markup', '<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['quotes and wildcards', `'%_*"\\`, `'%_*"\\`],
]

export const updateScenarios: readonly Scenario[] = [
  ...noValidField.map(([what, body, details]) => {
    // A plain string is sent as it is, so it needs its content type.
    const scenario = refused(`${what} has no valid field: 400, and nothing changes`, body, NONE, details)
    if (typeof body !== 'string') return scenario
    return {
      ...scenario,
      ask: async (estate: Estate) => {
        const ask = await scenario.ask(estate)
        return { ...ask, headers: [...(ask.headers ?? []), ['content-type', 'application/json'] as const] }
      },
    }
  }),
  {
    name: 'an empty body has no valid field, with or without a content type',
    async ask(estate) {
      return put(estate, (await estate.token()).id, '', [['content-type', 'application/json']])
    },
    status: 400,
    body: invalidFields(NONE),
  },
  {
    name: 'no body at all has no valid field',
    async ask(estate) {
      return put(estate, (await estate.token()).id, undefined)
    },
    status: 400,
    body: invalidFields(NONE),
  },
  refused(
    'a valid name beside an invalid status is refused, and names the status',
    { name: 'x', status: 'paused' },
    BAD_STATUS[1],
    [BAD_STATUS],
  ),
  refused(
    'a valid status beside an invalid name is refused, and names the name',
    { name: 7, status: 'inactive' },
    NO_TEXT[1],
  ),
  refused('a name of white space beside a valid status is refused', { name: ' ', status: 'inactive' }, EMPTY),
  refused(
    'a name that is too long is named before an unknown status',
    { name: 'x'.repeat(256), status: 'paused' },
    LONG,
  ),
  ...badNames.map(([what, name, reason]) =>
    refused(`a name with ${what} is refused, and the answer says why`, { name }, reason),
  ),
  refused('a bad name beside a good status changes neither', { name: 'a\u202eb', status: 'inactive' }, STEERING),
  ...goodNames.map(
    ([what, name, stored]): Scenario => ({
      name: `a name with ${what} is stored in its normal form`,
      async ask(estate) {
        const subAccount = await freshSubAccount(estate)
        return put(estate, (await estate.token({ subAccountId: subAccount })).id, { name })
      },
      status: 200,
      body: (heard) => assert.equal(heard.json.data.name, stored),
    }),
  ),
  {
    name: 'an update answers with the documented envelope and the full token as stored',
    async ask(estate) {
      return put(estate, (await estate.token()).id, { name: 'Whole', status: 'inactive' })
    },
    status: 200,
    async body(heard, estate) {
      const { operator, registry } = estate.running
      const token = await registry.getToken(operator.actFor(estate.mine.accountId), heard.json.data._id)
      assert.equal(heard.text, JSON.stringify(success('API token updated successfully', wire(token), 1)))
      assert.deepEqual([token.name, token.status, token.version], ['Whole', 'inactive', 2])
    },
    headers: { etag: '"2"' },
  },
  ...(['active', 'inactive'] as const).map(
    (status): Scenario => ({
      name: `status ${status} is set from the other one, and the name stays`,
      async ask(estate) {
        const from = status === 'active' ? 'inactive' : 'active'
        return put(estate, (await estate.token({ name: `Flip to ${status}`, status: from })).id, { status })
      },
      status: 200,
      body: (heard) => assert.deepEqual([heard.json.data.status, heard.json.data.name], [status, `Flip to ${status}`]),
    }),
  ),
  {
    name: 'fields that may not be set are ignored beside a valid one',
    async ask(estate) {
      const token = await estate.token()
      return put(estate, token.id, {
        status: 'inactive',
        _id: 'tok_other',
        token: 'stolen',
        createdAt: '2000-01-01T00:00:00.000Z',
        subAccount: { _id: estate.theirs.subAccounts[0].id },
        version: 99,
      })
    },
    status: 200,
    body: (heard, estate) => {
      assert.equal(heard.json.data.status, 'inactive')
      assert.equal(heard.json.data.subAccount._id, estate.mine.subAccounts[0].id)
    },
    absent: (estate) => ['stolen', 'tok_other', '2000-01-01', estate.theirs.subAccounts[0].id],
  },
  {
    name: 'the own name again is fine, and changes nothing',
    async ask(estate) {
      const token = await estate.token()
      return put(estate, token.id, { name: `  ${token.name} `, status: token.status })
    },
    status: 200,
    headers: { etag: '"1"' },
  },
  {
    name: 'another token’s name in the same sub-account is refused',
    async ask(estate) {
      await estate.token({ name: 'Taken' })
      return put(estate, (await estate.token()).id, { name: ' Taken ', status: 'inactive' })
    },
    status: 400,
    asksEngine: true,
    body: failure('Validation error', 'Token name already exists for this sub-account'),
    headers: { 'x-latchkey-error': 'duplicate-name' },
  },
  ...playedOnce(
    unknownTokens().map(
      ({ name, id }): Scenario => ({
        name: `update of ${name} is answered as not found`,
        ask: async (estate) => put(estate, await id(estate), { status: 'inactive' }),
        status: 404,
        body: NOT_FOUND,
      }),
    ),
  ),
  {
    name: 'fields are checked before the token is looked for',
    ask: (estate) => put(estate, 'tok_unknown', { status: 'paused' }),
    status: 400,
    body: invalidFields(NONE),
  },
  {
    name: 'the body’s syntax is checked before its fields',
    ask: (estate) => put(estate, 'tok_unknown', '{"status": ', [['content-type', 'application/json']]),
    status: 400,
    body: invalid(/body .*JSON/),
  },
  {
    name: 'If-Match with the current version goes ahead',
    async ask(estate) {
      return put(estate, (await estate.token()).id, { status: 'inactive' }, [['if-match', '"7", "1"']])
    },
    status: 200,
  },
  ...['"2"', 'W/"1"', '"x"', '"01"', ''].map(
    (tag): Scenario => ({
      name: `If-Match ${tag || '(empty)'} does not match version 1: 412, and nothing changes`,
      async ask(estate) {
        const { id } = await estate.token({ name: `If-Match (${tag})` })
        return put(estate, id, { status: 'inactive' }, [['if-match', tag]])
      },
      status: 412,
      async body(heard, estate) {
        refusal('version-mismatch')(heard)
        const path = `${TOKEN}?include=details&limit=100&search=If-Match`
        const { items } = (await estate.mineAsks({ path })).json.data
        const { status, details } = items.find(({ name }: { name: string }) => name === `If-Match (${tag})`)
        assert.deepEqual([status, details.version], ['active', 1])
      },
    }),
  ),
  {
    name: 'If-Match * goes ahead for a token that exists',
    async ask(estate) {
      return put(estate, (await estate.token()).id, { status: 'inactive' }, [['if-match', '*']])
    },
    status: 200,
  },
]

async function freshSubAccount(estate: Estate): Promise<string> {
  const fields = { name: 'Fresh', email: 'fresh@x.example', companyName: 'Fresh' }
  const [made] = await estate.running.operator.createSubAccounts(estate.mine.accountId, [fields])
  return made?.id ?? ''
}
