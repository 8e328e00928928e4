// Leaked credentials over HTTP: what stands in a text is switched off, by its account or by reports from outside, and nothing else is.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { withClient } from '../../src/storage/postgres/prepare-database.ts'
import { permissionsOf, type Role } from '../../src/tokens/model/permissions.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import type { Engine, Estate } from '../support/estate.ts'
import { type Ask, bearer, type Heard } from '../support/http.ts'
import { foundIn, LEAK, LeakSource, OUTSIDE, TEXT } from '../support/leak-source.ts'

export function describeLeaks(engine: Engine): void {
  describe(`leaked credentials on the ${engine.name} store`, () => {
    const source = new LeakSource()
    let estate: Estate
    before(async () => {
      estate = await source.openEstate(engine)
    })
    after(() => source.close(estate))

    const leak = (body: unknown, headers: Ask['headers'] = [], query = '') =>
      estate.mineAsks({ method: 'POST', path: `${LEAK}${query}`, body, headers })
    const keyOf = async (role: Role, subAccounts: readonly string[] | null = null) => {
      const { key } = await estate.running.operator.createKey(
        estate.mine.accountId,
        role,
        null,
        permissionsOf({ role, subAccounts }),
      )
      estate.secrets.add(key)
      return key
    }
    const asKey = (key: string, ask: Ask) => estate.ask({ ...ask, headers: [bearer(key), ...(ask.headers ?? [])] })
    const isAccepted = async ({ credential }: Pick<Token, 'credential'>) =>
      (await estate.ask({ path: '/api/v1/verify', headers: [bearer(credential)] })).status === 204
    const historyOf = async ({ id }: Token) =>
      (await estate.mineAsks({ path: `/api/v1/apiClient/token/${id}/history` })).json.data.items
    /** Meanwhile the store refuses to change this token. */
    const withoutUpdatesOf = async ({ id }: Token, work: () => Promise<void>) => {
      const { databaseUrl, dataDir } = estate.config
      const run = async (sqlite: string, postgres: string) => {
        if (databaseUrl === undefined) {
          using db = new DatabaseSync(join(dataDir, 'latchkey.db'))
          db.exec(sqlite)
        } else await withClient(databaseUrl, (client) => client.query(postgres))
      }
      await run(
        `CREATE TRIGGER refused BEFORE UPDATE ON tokens WHEN OLD.id = '${id}' BEGIN SELECT RAISE(ABORT, 'refused'); END`,
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
         CREATE TRIGGER refused BEFORE UPDATE ON tokens FOR EACH ROW WHEN (OLD.id = '${id}') EXECUTE FUNCTION refuse()`,
      )
      await work()
      await run('DROP TRIGGER refused', 'DROP TRIGGER refused ON tokens; DROP FUNCTION refuse')
    }
    const areAccepted = (tokens: readonly Token[]) => Promise.all(tokens.map(isAccepted))

    test('all that stand in a text are switched off together, with the reason in the history, and nothing else is', async () => {
      const [one, two, off, bystander] = [
        await estate.token(),
        await estate.token({ credential: 'SG.imported/leaked-1' }),
        await estate.token({ status: 'inactive' }),
        await estate.token(),
      ]
      const theirs = await estate.token({}, estate.theirs)
      const encoded = Buffer.from(`user:${one.credential}`).toString('base64')
      const text = `a Basic ${encoded}\nKEY=${two.credential} "${off.credential}" ${theirs.credential} ${one.credential}`
      const heard = await leak({ text })
      assert.equal(heard.status, 200, heard.text)
      assert.equal(heard.json.message, 'Found 3 leaked token(s), disabled 2')
      const { id: _id, name, email, companyName } = estate.mine.subAccounts[0]
      const expected = [one, two, off].map((token) => ({
        _id: token.id,
        name: token.name,
        subAccount: { _id, name, email, companyName },
        status: 'inactive',
        wasActive: token !== off,
      }))
      assert.deepEqual(heard.json.data, { found: expected, disabled: 2 })
      assert.deepEqual(await Promise.all([one, two, bystander, theirs].map(isAccepted)), [false, false, true, true])
      const [last] = await historyOf(one)
      assert.deepEqual(
        [last.action, last.from, last.to],
        ['token.update', { status: 'active' }, { status: 'inactive', reason: 'leaked' }],
      )
      assert.equal((await historyOf(off)).length, 1)
    })

    test('a dry run finds the same, and changes nothing', async () => {
      const token = await estate.token()
      for (const heard of [
        await leak({ text: token.credential, dryRun: true }),
        await leak(`x=${token.credential}`, [TEXT], '?dryRun=true'),
      ]) {
        assert.deepEqual(heard.json.data.disabled, 0)
        assert.deepEqual(
          heard.json.data.found.map(({ status, wasActive }: never) => [status, wasActive]),
          [['active', true]],
        )
      }
      assert.equal(await isAccepted(token), true)
      assert.equal((await historyOf(token)).length, 1)
    })

    test('a former credential counts while it works, and not when its time is over', async () => {
      const [working, over] = [await estate.token(), await estate.token({ credential: 'imported-and-replaced' })]
      const rotate = (token: Token, overlapSeconds: number) =>
        estate.mineAsks({
          method: 'POST',
          path: `/api/v1/apiClient/token/${token.id}/rotate`,
          body: { overlapSeconds },
        })
      await rotate(working, 3600)
      const { token: replaced } = (await rotate(over, 0)).json.data
      estate.secrets.add(replaced)
      const text = `${working.credential} ${over.credential}`
      assert.deepEqual(foundIn(await leak({ text })), [working.id])
      assert.equal(await isAccepted({ credential: replaced }), true)
    })

    test('who may only read can look, and who sees some sub-accounts ends theirs only', async () => {
      const [own, other] = [await estate.token(), await estate.token({ subAccountId: estate.mine.subAccounts[1].id })]
      const text = `${own.credential}\n${other.credential}`
      const [viewer, verifier] = [await keyOf('viewer'), await keyOf('verifier')]
      const ask = (body: object) => ({ method: 'POST', path: LEAK, body })
      assert.equal((await asKey(viewer, ask({ text }))).status, 403)
      assert.deepEqual(foundIn(await asKey(viewer, ask({ text, dryRun: true }))), [own.id, other.id])
      assert.equal((await asKey(verifier, ask({ text, dryRun: true }))).status, 403)
      const manager = await keyOf('manager', [estate.mine.subAccounts[0].id])
      const heard = await asKey(manager, ask({ text }))
      assert.deepEqual([foundIn(heard), heard.json.data.disabled], [[own.id], 1])
      assert.equal(await isAccepted(other), true)
    })

    test('a retry with the same idempotency key gets the same answer, and another text is refused', async () => {
      const [one, two] = [await estate.token(), await estate.token()]
      const [text, key] = [`${one.credential} ${two.credential}`, [['idempotency-key', 'leak-1']] as const]
      const first = await leak({ text }, key)
      assert.equal(first.json.data.disabled, 2)
      assert.equal((await leak({ text }, key)).text, first.text)
      assert.equal((await leak({ text: one.credential }, key)).status, 409)
      assert.equal((await leak({ text })).json.data.disabled, 0)
      assert.equal((await historyOf(one)).length, 2)
    })

    test('tokens are found in the order of the text', async () => {
      const tokens = await Promise.all(Array.from({ length: 12 }, () => estate.token()))
      const text = tokens.map(({ credential }) => credential).join(' ')
      const heard = await leak({ text, dryRun: true })
      assert.deepEqual(
        heard.json.data.found.map(({ _id }: never) => _id),
        tokens.map(({ id }) => id),
      )
    })

    test('a retry of a request that was cut off halfway ends the rest', async () => {
      const [one, two] = [await estate.token(), await estate.token()]
      const [text, key] = [`${one.credential} ${two.credential}`, [['idempotency-key', 'leak-2']] as const]
      const first = await leak({ text }, key)
      const path = `/api/v1/apiClient/token/${two.id}`
      await estate.mineAsks({ method: 'PATCH', path, body: { status: 'active' } })
      assert.equal((await leak({ text }, key)).text, first.text)
      assert.equal(await isAccepted(two), false)
    })

    describe('from outside', () => {
      const report = (body: unknown, headers: Ask['headers'] = []) =>
        estate.ask({ method: 'POST', path: `${OUTSIDE}/report`, body, headers })
      const comparable = ({ status, text, headers }: Heard) => {
        const { 'x-request-id': _id, date: _date, ...rest } = headers
        return { status, text, headers: rest }
      }

      test('anybody who has a credential ends it, and the answer is that to any other', async () => {
        const [json, plain, short] = [
          await estate.token(),
          await estate.token(),
          await estate.token({ credential: 'guessable-1' }),
        ]
        const missing = await report({ credentials: ['x'.repeat(json.credential.length)] })
        assert.deepEqual([missing.status, missing.text], [202, '{}'])
        assert.deepEqual(comparable(await report({ credentials: [json.credential] })), comparable(missing))
        const text = `found:\n  ${plain.credential}\n${short.credential}\n`
        assert.deepEqual(comparable(await report(text, [TEXT])), comparable(missing))
        assert.deepEqual(await areAccepted([json, plain, short]), [false, false, true])
        const [last] = await historyOf(json)
        assert.deepEqual([last.by, last.to], ['leak:report', { status: 'inactive', reason: 'leaked' }])
      })

      test('a report of an account key revokes it', async () => {
        const [key, token] = [await keyOf('owner'), await estate.token()]
        assert.equal((await report({ credentials: [key, token.credential] })).status, 202)
        assert.equal(await isAccepted(token), false)
        assert.equal((await asKey(key, { path: '/api/v1/apiClient/whoami' })).status, 401)
      })

      test('when a report of a thousand credentials is answered, all of them are off', async () => {
        const tokens: Token[] = []
        while (tokens.length < 100) tokens.push(await estate.token())
        const credentials = [
          ...tokens.map(({ credential }) => credential),
          ...Array(700)
            .keys()
            .map((n) => `unknown-credential-${n}`),
        ]
        assert.equal((await report({ credentials })).status, 202)
        assert.ok((await areAccepted(tokens)).every((accepted) => !accepted))
      })

      test('a report, also one that is sent again meanwhile, is answered when no verifier accepts the credential any more', async () => {
        const [token, key] = [await estate.token(), await keyOf('verifier')]
        const lease = { method: 'POST', path: '/api/v1/apiClient/verifier/lease', body: { leaseSeconds: 2 } }
        assert.equal((await asKey(key, lease)).status, 200)
        const reports = [report({ credentials: [token.credential] }), report({ credentials: [token.credential] })]
        for (const sent of reports) {
          const heard = await sent
          assert.deepEqual([heard.status, heard.headers['x-latchkey-confirmed']], [202, undefined])
          assert.deepEqual(await estate.running.store.listVerifiers({}), [])
        }
      })

      test('a change that fails does not end the others, and the report is answered 503, so that it is sent again', async () => {
        const tokens = [await estate.token(), await estate.token(), await estate.token()]
        const credentials = tokens.map(({ credential }) => credential)
        for (const send of [() => report({ credentials }), () => estate.ask(source.report(credentials))]) {
          const [failing] = tokens
          await withoutUpdatesOf(failing as Token, async () => {
            const heard = await send()
            assert.deepEqual([heard.status, heard.headers['retry-after']], [503, '1'])
            assert.equal(heard.json.error.message, 'Not all of the report could be worked on; send it again')
          })
          assert.deepEqual(await areAccepted(tokens), [true, false, false])
        }
        assert.equal((await report({ credentials })).status, 202)
        assert.deepEqual(await areAccepted(tokens), [false, false, false])
      })

      test('what a source has signed is switched off before the answer, which carries no labels', async () => {
        const token = await estate.token()
        const heard = await estate.ask(source.report([token.credential]))
        assert.deepEqual([heard.status, heard.text], [202, '{}'])
        assert.equal(await isAccepted(token), false)
        const [last] = await historyOf(token)
        assert.deepEqual([last.by, last.to.reason], ['leak:github', 'leaked'])
        assert.deepEqual(comparable(await estate.ask(source.report(['lk_tok_missing']))), comparable(heard))
      })

      test('GitLab ends the tokens of the account whose key it has, and learns nothing of them', async () => {
        const [token, theirs] = [await estate.token(), await estate.token({}, estate.theirs)]
        const bare = (key: string): readonly [string, string] => ['authorization', key]
        const manager = await keyOf('manager')
        const types = await estate.ask({ path: `${OUTSIDE}/gitlab/v1/revocable_token_types`, headers: [bare(manager)] })
        assert.deepEqual(types.json, { types: ['gitleaks_rule_id_latchkey-token'] })
        const revoke = (tokens: readonly unknown[], key = manager) =>
          estate.ask({ method: 'POST', path: `${OUTSIDE}/gitlab/v1/revoke_tokens`, headers: [bare(key)], body: tokens })
        const entry = ({ credential }: { credential: string }) => ({ type: 't', token: credential, location: 'x' })
        const heard = await revoke([entry(token), entry(theirs), entry({ credential: 'none' })])
        assert.deepEqual([heard.status, heard.text], [204, ''])
        assert.deepEqual([await isAccepted(token), await isAccepted(theirs)], [false, true])
        assert.equal((await historyOf(token))[0].to.reason, 'leaked')
        assert.equal((await revoke([5])).status, 400)
        assert.equal((await revoke([entry(token)], await keyOf('viewer'))).status, 403)
      })

      test('TruffleHog learns of the credentials of its account whether they are alive', async () => {
        const [alive, off, theirs] = [
          await estate.token(),
          await estate.token({ status: 'inactive' }),
          await estate.token({}, estate.theirs),
        ]
        const key = await keyOf('verifier')
        const verify = async (...matches: readonly string[]) => {
          const body = { 'latchkey token': { token: matches } }
          return (await asKey(key, { method: 'POST', path: `${OUTSIDE}/trufflehog`, body })).status
        }
        assert.equal(await verify('lk_tok_none', alive.credential), 200)
        for (const { credential } of [off, theirs]) assert.equal(await verify(credential), 403)
        assert.equal(await verify(), 400)
      })
    })

    test('no part of any text is in a log or on the disk', async () => {
      const canary = 'canary-of-a-leaked-text'
      estate.secrets.add(canary)
      for (const text of [canary, `{"${canary}`, `${canary}\n`.repeat(1_000)]) {
        await leak({ text })
        await leak(text, [TEXT])
        await leak(text, [['content-type', 'application/json']])
        await estate.ask({ method: 'POST', path: `${OUTSIDE}/report`, body: { credentials: [text] } })
        await estate.ask(source.report([text]))
        await estate.ask(source.report([], text))
      }
      assert.deepEqual(await estate.whereSecretsLie(), [])
    })
  })
}
