// Every parser, given what nobody would send, over real HTTP where it is one of HTTP. Nothing crashes, nothing is answered
// with a fault of ours, every answer is in the words of the contract, and what is good still works afterwards.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/tokens/model/errors.ts'
import { brokenCredentialRule } from '../../src/tokens/service/operator.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { kindOfCredential } from '../../src/tokens/verify/credential-format.ts'
import { Cli } from '../support/cli.ts'
import { type Engine, Estate } from '../support/estate.ts'
import { type Ask, bearer, closeConnections, type Heard } from '../support/http.ts'
import { fc } from '../support/properties.ts'
import { assertTellsNothing } from '../support/traces.ts'
import { anyText, bodies, fieldNames, fieldValues, headerText, mangled, mostly, queryText } from './garbage.ts'

const LIST = '/api/v1/apiClient/token'
const JSON_TYPE = ['content-type', 'application/json'] as const
const FORM = ['content-type', 'application/x-www-form-urlencoded'] as const
const ACCOUNT_CLAIM = 'account'

export interface Fuzzing {
  readonly seed: number
  /** How many cases of each kind. */
  readonly cases: number
}

export function describeFuzz(engine: Engine, { seed, cases }: Fuzzing): void {
  describe(`what nobody would send, ${cases} of each, on the ${engine.name} store (seed ${seed})`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'latchkey-fuzz-'))
    const settings = { seed, numRuns: cases, endOnFailure: true }
    let estate: Estate
    let sign: (claims: Record<string, unknown>, header: object) => Promise<string>
    let token: { readonly id: string; readonly credential: string }
    before(async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
      const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }
      writeFileSync(join(folder, 'jwks.json'), JSON.stringify({ keys: [jwk] }))
      sign = (claims, header) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'ES256', kid: 'k', ...header }).sign(privateKey)
      estate = await Estate.open(engine, {
        LATCHKEY_JWT_JWKS: join(folder, 'jwks.json'),
        LATCHKEY_JWT_ISSUER: 'fuzz',
        LATCHKEY_JWT_AUDIENCE: 'latchkey',
        LATCHKEY_JWT_ACCOUNT_CLAIM: ACCOUNT_CLAIM,
      })
      token = await estate.token({ name: 'Untouched' })
    })
    after(async () => {
      closeConnections()
      await estate.close()
      rmSync(folder, { recursive: true, force: true })
    })

    const told = async (ask: Ask, ...allowed: number[]): Promise<Heard> => {
      const heard = await estate.ask(ask)
      assert.ok(allowed.includes(heard.status), `${heard.status} ${heard.text}`)
      if (heard.status >= 400) {
        const fields = heard.status === 401 ? 'code,message,stack' : 'status,message,message_type,data,error'
        assert.equal(Object.keys(heard.json).join(), fields)
        assert.match(String(heard.headers['x-latchkey-error']), /^[a-z-]+$/)
        assertTellsNothing(heard.text, ask.path)
      }
      return heard
    }
    const mine = (ask: Ask): Ask => ({ ...ask, headers: [bearer(estate.mine.key), ...(ask.headers ?? [])] })
    const fuzz = <Value>(name: string, values: fc.Arbitrary<Value>, property: (value: Value) => Promise<void> | void) =>
      test(name, () =>
        fc.assert(
          fc.asyncProperty(values, async (value) => void (await property(value))),
          settings,
        ),
      )

    fuzz(
      'the bearer: in with the key itself, and with nothing else',
      fc.tuple(
        fc.constantFrom('Bearer', 'bearer', 'Bearer ', 'Basic', ''),
        fc.oneof(headerText, fc.constantFrom('KEY', 'TOKEN'), mangled(fc.constant('KEY'))),
        fc.constantFrom('', ' ', ',', ' x'),
      ),
      async ([scheme, text, rest]) => {
        const value = `${scheme} ${text}${rest}`.replace('KEY', estate.mine.key).replace('TOKEN', token.credential)
        if (/[^\t\x20-\x7e\x80-\xff]/.test(value)) return
        const bare = /^bearer +(\S+)$/i.exec(value.trim())?.[1]
        const expected = bare === estate.mine.key ? 200 : bare === token.credential ? 403 : 401
        await told({ path: LIST, headers: [['authorization', value]] }, expected)
      },
    )

    fuzz(
      'a query',
      fc.array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom(
              'page',
              'limit',
              'status',
              'search',
              'subAccountId',
              'include',
              'used',
              'createdFrom',
              'expiresBefore',
              'tag',
              'scope',
              'address',
            ),
            queryText,
          ),
          fc.oneof(
            queryText,
            fc.constantFrom('1', '2', 'active', 'details', 'never', '2147483648', '1e3', '0x1', '-1', ''),
          ),
        ),
        { maxLength: 5 },
      ),
      async (pairs) => {
        const query = pairs.map(([name, value]) => `${name}=${value}`).join('&')
        for (const path of ['token', 'sub-account', 'history', 'overview', 'whoami', `token/${token.id}/explain`])
          await told(mine({ path: `/api/v1/apiClient/${path}?${query}` }), 200, 400, 403)
        await told({ path: `/api/v1/verify?${query}`, headers: [bearer(token.credential)] }, 204, 400)
      },
    )

    fuzz('a path', queryText, async (text) => {
      for (const path of [
        `${LIST}/${text}`,
        `${LIST}/sub-account/${text}`,
        `/api/v1/apiClient/sub-account/${text}`,
        `/${text}`,
      ])
        await told(mine({ path: path.replaceAll('#', '') }), 200, 302, 308, 400, 403, 404, 405)
    })

    fuzz(
      'a JSON body',
      fc.tuple(bodies, fc.constantFrom('PUT', 'PATCH', 'POST', 'ROTATE', 'SUB', 'PATCH SUB')),
      async ([body, where]) => {
        const requests = {
          PUT: { method: 'PUT', path: `${LIST}/${(await estate.token()).id}` },
          PATCH: { method: 'PATCH', path: `${LIST}/${(await estate.token()).id}` },
          POST: { method: 'POST', path: LIST },
          ROTATE: { method: 'POST', path: `${LIST}/tok_none/rotate` },
          SUB: { method: 'POST', path: '/api/v1/apiClient/sub-account' },
          'PATCH SUB': { method: 'PATCH', path: `/api/v1/apiClient/sub-account/${estate.mine.subAccounts[2].id}` },
        }
        await told(
          mine({ ...requests[where as keyof typeof requests], body, headers: [JSON_TYPE] }),
          200,
          201,
          400,
          403,
          404,
        )
      },
    )

    fuzz(
      'a form',
      fc.oneof(
        fc
          .array(fc.tuple(fc.constantFrom('token', 'token_type_hint', '__proto__'), queryText), { maxLength: 3 })
          .map((pairs) => pairs.map((pair) => pair.join('=')).join('&')),
        fc.uint8Array({ maxLength: 100 }).map((bytes) => Buffer.from(bytes)),
      ),
      async (body) => {
        const heard = await told(mine({ method: 'POST', path: '/oauth2/introspect', body, headers: [FORM] }), 200, 400)
        if (heard.status === 200) assert.equal(heard.text, '{"active":false}')
      },
    )

    fuzz(
      'conditions and keys of retries',
      fc.tuple(headerText, headerText, fc.boolean()),
      async ([ifMatch, retry, twice]) => {
        const path = `${LIST}/${token.id}`
        const matches = [['if-match', ifMatch], ...(twice ? [['if-match', '"9"'] as const] : [])] as const
        await told(mine({ method: 'PUT', path, body: { name: 'Untouched' }, headers: matches }), 200, 400, 412)
        const body = { subAccountId: estate.mine.subAccounts[1].id, name: estate.freshName() }
        await told(mine({ method: 'POST', path: LIST, body, headers: [['idempotency-key', retry]] }), 201, 400, 409)
      },
    )

    fuzz('a content type', headerText, async (type) => {
      await told(
        mine({
          method: 'PUT',
          path: `${LIST}/${token.id}`,
          body: '{"status":"active"}',
          headers: [['content-type', type]],
        }),
        200,
        400,
        415,
      )
    })

    const part = fc
      .oneof(fc.json(), mangled(fc.constant('{"alg":"none"}')))
      .map((text) => Buffer.from(text).toString('base64url'))
    fuzz(
      'a JWT that nobody signed',
      fc.tuple(
        part,
        part,
        fc.base64String().map((text) => text.replace(/[+/=]/g, '_')),
      ),
      async (parts) => {
        await told({ path: LIST, headers: [bearer(parts.join('.'))] }, 401)
        const claimed = Buffer.from(JSON.stringify({ iss: 'fuzz', aud: 'latchkey' })).toString('base64url')
        await told({ path: LIST, headers: [bearer(`${parts[0]}.${claimed}.${parts[2]}`)] }, 401)
      },
    )

    fuzz(
      'a JWT that was signed, and says anything',
      fc.record({
        claims: fc.record(
          {
            iss: fc.constant('fuzz'),
            aud: mostly('latchkey', fc.jsonValue()),
            exp: mostly(4e9, fc.jsonValue()),
            sub: fc.oneof(anyText, anyText, fc.jsonValue()),
            [ACCOUNT_CLAIM]: mostly('MINE', fc.oneof(anyText, fc.jsonValue())),
          },
          { requiredKeys: ['iss'] },
        ),
        header: mostly({}, fc.constantFrom({ kid: 'other' }, { typ: 'x' }, { crit: ['exp'] })),
      }),
      async ({ claims, header }) => {
        const named = claims[ACCOUNT_CLAIM] === 'MINE' ? { ...claims, [ACCOUNT_CLAIM]: estate.mine.accountId } : claims
        const jwt = await sign(named, header as object).catch(() => undefined)
        if (jwt === undefined || jwt.length > 8_000) return
        // A change, so that whoever the token names is written into the history.
        const body = { name: estate.freshName() }
        await told(
          { method: 'PUT', path: `${LIST}/${(await estate.token()).id}`, body, headers: [bearer(jwt)] },
          200,
          401,
          404,
        )
      },
    )

    test('what is good still works, and nothing was a fault of ours', async () => {
      const verdict = await estate.ask({ path: '/api/v1/verify', headers: [bearer(token.credential)] })
      assert.equal(verdict.status, 204)
      assert.equal((await estate.mineAsks({ path: `${LIST}/${token.id}` })).json.data.name, 'Untouched')
      assert.deepEqual(
        estate.logged.filter((line) => line.includes('request failed')),
        [],
      )
      assert.deepEqual(Object.keys(Object.prototype), [])
    })
  })
}

export function describeFuzzOfTexts({ seed, cases }: Fuzzing): void {
  const settings = { seed, numRuns: cases, endOnFailure: true }

  describe(`texts that nobody would write, ${cases} of each (seed ${seed})`, () => {
    test('a credential: ours are known, and nothing else passes for one', () => {
      const near = fc.constantFrom('tok', 'key').map((kind) => newCredential(kind as 'tok' | 'key'))
      fc.assert(
        fc.property(fc.oneof(anyText, near, mangled(near), headerText), (text) => {
          const kind = kindOfCredential(text)
          assert.ok(kind === undefined || kind === 'tok' || kind === 'key')
          if (kind === 'key') assert.match(text, /^lk_key_[0-9A-Za-z]{49}$/)
          assert.equal(brokenCredentialRule(text) === undefined, kind === 'tok')
        }),
        settings,
      )
    })

    test('a configuration is taken, or refused in a sentence that names the variable', () => {
      const names = [
        ...['HOST', 'PORT', 'DATABASE_URL', 'LATCHKEY_DATA_DIR', 'LATCHKEY_MASTER_KEY', 'LATCHKEY_MASTER_KEY_FILE'],
        ...['LATCHKEY_WORKERS', 'LATCHKEY_PG_POOL', 'LATCHKEY_AUTO_MIGRATE', 'LOG_LEVEL'],
        ...['LATCHKEY_CREDENTIAL_HEADER', 'LATCHKEY_TRUST_PROXY', 'LATCHKEY_APP_TYPE', 'LATCHKEY_APP_VERSION'],
        ...['LATCHKEY_RATE_LIMIT_KEY', 'LATCHKEY_RATE_LIMIT_ADDRESS', 'LATCHKEY_RATE_LIMIT_FAILED'],
        ...['LATCHKEY_JWT_JWKS', 'LATCHKEY_JWT_ISSUER', 'LATCHKEY_JWT_AUDIENCE', 'LATCHKEY_JWT_ACCOUNT_CLAIM'],
      ]
      const value = fc.oneof(
        anyText,
        fc.constantFrom('', '0', '1', 'on', 'off', '5/m', '1e3', '-1', ' 7 ', 'postgres://'),
      )
      fc.assert(
        fc.property(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 }), (env) => {
          try {
            assert.ok(Object.isFrozen(readConfig(env)))
          } catch (error) {
            assert.ok(error instanceof OperatorError, String(error))
            assert.ok(names.some((name) => error.message.includes(name)))
          }
        }),
        settings,
      )
    })

    test('a line of an import is taken, or named with what is wrong with it; the rest is imported', async () => {
      const cli = new Cli()
      const { subAccount } = await cli.estate()
      const file = join(cli.dataDir, 'fuzz.ndjson')
      const line = fc
        .oneof(
          fc.record(
            { subAccountId: fc.constant(subAccount._id), name: anyText, credential: anyText },
            { requiredKeys: ['subAccountId', 'name'] },
          ),
          fc
            .dictionary(fieldNames, fieldValues, { maxKeys: 5 })
            .map((fields) => ({ subAccountId: subAccount._id, ...fields })),
          fc.record({ subAccount: fc.jsonValue(), token: fc.jsonValue(), name: anyText }),
        )
        .map((value) => JSON.stringify(value))
      const lines = fc.array(
        fc.oneof(
          line,
          mangled(line),
          bodies.filter((body) => typeof body === 'string'),
        ),
        {
          minLength: LINES,
          maxLength: LINES,
          size: 'max',
        },
      )
      try {
        await fc.assert(
          fc.asyncProperty(lines, async (texts) => {
            writeFileSync(file, texts.map((text) => String(text).replaceAll(/[\r\n]/g, '')).join('\n'))
            const ran = await cli.run('import', file, '--skip-bad', '--json')
            assert.equal(ran.code, 0, ran.stderr.slice(0, 500))
            const { lines: read, imported, unchanged, bad } = ran.json
            assert.equal(imported + unchanged + bad, read)
            assert.equal(ran.stderr.split('\n').filter((each) => each.startsWith('line ')).length, bad)
          }),
          { ...settings, numRuns: Math.ceil(cases / LINES) },
        )
      } finally {
        cli.dispose()
      }
    })
  })
}

const LINES = 100
