// Every guarded route × role × reveal × sub-accounts: what is not allowed is refused, what is outside the scope is as if it did
// not exist, and no credential is shown to those who may not see any.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Permissions, RIGHTS, type Right, ROLES } from '../../src/tokens/model/permissions.ts'
import { type Engine, Estate } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard } from '../support/http.ts'
import { LOOPBACK } from '../support/webhook-receiver.ts'
import { guarded } from './nobody-in.ts'

const RIGHTS_OF: Readonly<Record<Permissions['role'], readonly Right[]>> = {
  owner: ['introspect', 'read', 'change', 'manageKeys', 'manageWebhooks', 'seeGrants'],
  manager: ['introspect', 'read', 'change'],
  viewer: ['introspect', 'read'],
  verifier: ['introspect'],
}

/** A dry run needs only the right to read; what is asked here is none. */
const LEAK = 'POST /api/v1/apiClient/leak'

/** Other than to read for GET, and to change for the rest; null: every caller may. */
const NEEDED: Readonly<Record<string, Right | null>> = {
  'GET /api/v1/apiClient/whoami': null,
  'POST /oauth2/introspect': 'introspect',
  'POST /api/v1/leaks/trufflehog': 'introspect',
  [LEAK]: 'read',
  'POST /api/v1/apiClient/token/:id/reveal': 'read',
  'GET /api/v1/apiClient/key': 'manageKeys',
  'POST /api/v1/apiClient/key': 'manageKeys',
  'DELETE /api/v1/apiClient/key/:id': 'manageKeys',
  'GET /api/v1/apiClient/session': 'manageKeys',
  'DELETE /api/v1/apiClient/session/:id': 'manageKeys',
  'GET /api/v1/apiClient/portal-session': 'manageKeys',
  'DELETE /api/v1/apiClient/portal-session/:id': 'manageKeys',
  'POST /api/v1/apiClient/verifier/lease': 'introspect',
  'POST /api/v1/apiClient/verifier/verify': 'introspect',
  'DELETE /api/v1/apiClient/verifier/:id': 'manageKeys',
}

const neededFor = (route: string): Right | null => {
  if (route.includes('/webhook')) return 'manageWebhooks'
  if (route.includes('/grant')) return 'seeGrants'
  const known = NEEDED[route]
  return known === undefined ? (route.startsWith('GET ') ? 'read' : 'change') : known
}

/** Where a new credential is shown once, whoever asks. */
const SHOWS_NEW = ['POST /api/v1/apiClient/token', 'POST /api/v1/apiClient/token/:id/rotate']
const REVEAL = 'POST /api/v1/apiClient/token/:id/reveal'
/** Not for callers who see only some sub-accounts. */
const NEEDS_ALL = ['POST /api/v1/apiClient/sub-account']

type Scope = 'all' | 'its own' | 'another'

export function describeRights(engine: Engine): void {
  describe(`rights, on the ${engine.name} store`, () => {
    let estate: Estate
    const keys = new Map<string, string>()
    const nameOf = (role: string, reveal: boolean, scope: Scope) => `${role} ${reveal} ${scope}`

    before(async () => {
      estate = await Estate.open(engine, LOOPBACK)
      const [own, other] = estate.mine.subAccounts
      const scopes: Readonly<Record<Scope, readonly string[] | null>> = {
        all: null,
        'its own': [own.id, estate.mine.subAccounts[2].id],
        another: [other.id],
      }
      for (const role of ROLES) {
        for (const reveal of [true, false]) {
          for (const [scope, subAccounts] of Object.entries(scopes)) {
            const permissions = { role, reveal, subAccounts }
            const made = await estate.running.operator.createKey(estate.mine.accountId, 'k', null, permissions)
            keys.set(nameOf(role, reveal, scope as Scope), made.key)
            estate.secrets.add(made.key)
          }
        }
      }
    })
    after(async () => {
      closeConnections()
      await estate.close()
    })

    const askAs = (ask: Ask, key: string): Promise<Heard> =>
      estate.ask({ ...ask, headers: [...(ask.headers ?? []), bearer(key)] })

    for (const [route, { ask, owner, other, missing, ofAll = false }] of Object.entries(guarded)) {
      const [method = ''] = route.split(' ')
      for (const role of ROLES) {
        test(`${route} by a key with the role ${role}`, async () => {
          for (const reveal of [true, false]) {
            for (const scope of ['all', 'its own', 'another'] as const) {
              const question = { ...(await ask(estate)), method }
              const secrets = [...estate.secrets]
              const heard = await askAs(question, keys.get(nameOf(role, reveal, scope)) as string)
              const who = `${role}, reveal ${reveal}, ${scope}: ${heard.text}`
              if (!reveal) for (const secret of secrets) assert.ok(!heard.text.includes(secret), who)
              const refusal = refusalOf(route, role, reveal, scope)
              if (refusal !== undefined) {
                assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [403, 'not-allowed'], who)
                assert.ok(heard.json.error.message.endsWith(` to ${refusal}`), heard.text)
              } else if ((scope === 'another' || (ofAll && scope !== 'all')) && other !== owner) {
                assert.equal(heard.status, other, who)
                if (missing === undefined) continue
                const key = keys.get(nameOf(role, reveal, scope)) as string
                assert.equal(heard.text, (await askAs({ ...question, path: missing }, key)).text)
              } else assert.equal(heard.status, owner, who)
              const isNew = SHOWS_NEW.includes(route) && heard.status < 300
              if (isNew) assert.match(heard.json.data.token, /^lk_tok_[0-9A-Za-z]{49}$/, who)
            }
          }
        })
      }
    }

    test('a missing right is reported before any problem with the body', async () => {
      const { id } = await estate.token()
      for (const [path, key, what] of [
        ['/api/v1/apiClient/sub-account', nameOf('manager', true, 'its own'), RIGHTS.createSubAccounts],
        [`/api/v1/apiClient/token/${id}/reveal`, nameOf('owner', false, 'all'), RIGHTS.reveal],
      ] as const) {
        for (const body of ['{', '{}']) {
          const headers = [['content-type', 'application/json']] as const
          const heard = await askAs({ method: 'POST', path, body, headers }, keys.get(key) as string)
          assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [403, 'not-allowed'])
          assert.ok(heard.json.error.message.endsWith(` to ${what}`), heard.text)
        }
      }
    })

    function refusalOf(route: string, role: Permissions['role'], reveal: boolean, scope: Scope): string | undefined {
      const needed = neededFor(route)
      if (needed !== null && !RIGHTS_OF[role].includes(needed)) return RIGHTS[needed]
      if (route === LEAK && !RIGHTS_OF[role].includes('change')) return RIGHTS.change
      if (route === REVEAL && !reveal) return 'see credentials'
      if ((needed === 'manageWebhooks' || needed === 'seeGrants') && scope !== 'all') return RIGHTS[needed]
      if (NEEDS_ALL.includes(route) && scope !== 'all') return 'create sub-accounts'
      if (route === 'POST /api/v1/apiClient/key' && scope !== 'all') return 'give access to all sub-accounts'
      return undefined
    }
  })
}
