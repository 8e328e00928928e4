// Bringing in tokens from a file: what is taken, what is refused, and what happens beside other writers.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import { importTokens } from '../../src/cli/store/import.ts'
import { Output } from '../../src/cli/terminal/output.ts'
import { Failure } from '../../src/tokens/model/errors.ts'
import type { BulkToken, Operator } from '../../src/tokens/service/operator.ts'
import { Cli } from '../support/cli.ts'
import { openService, type TestService } from '../support/service.ts'
import { Estate, FIRST_PAGE } from '../support/store.ts'

const cli = new Cli()
let estate: Awaited<ReturnType<Cli['estate']>>
before(async () => {
  estate = await cli.estate()
})
after(() => cli.dispose())

describe('import', () => {
  const bytesOf = (line: object | string): Buffer =>
    Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : JSON.stringify(line))
  const write = (name: string, lines: readonly (object | string)[], ending = '\n'): string => {
    const file = join(cli.dataDir, name)
    writeFileSync(file, Buffer.concat(lines.flatMap((line) => [bytesOf(line), Buffer.from(ending)])))
    return file
  }
  const line = (name: string, more: object = {}) => ({ subAccountId: estate.subAccount._id, name, ...more })

  test('takes credentials of any format, a Token as the API returns it, and lines without a credential', async () => {
    const token = {
      name: 'I3',
      token: 'from-api',
      status: 'inactive',
      subAccount: { _id: estate.subAccount._id },
    }
    const lines = [
      line('I1', { credential: 'any~format/1' }),
      '',
      line('I2', { createdAt: '2020-02-02T02:02:02Z' }),
      token,
    ]
    const { json } = await cli.run('import', write('good.ndjson', lines), '--json')
    assert.deepEqual(json, { lines: 3, imported: 3, unchanged: 0, bad: 0 })
  })

  test('run again, it finds that everything is there', async () => {
    const lines = [line('Again', { credential: 'again-1' })]
    assert.equal((await cli.run('import', write('again.ndjson', lines), '--json')).json.imported, 1)
    assert.deepEqual((await cli.run('import', write('again.ndjson', lines), '--json')).json, {
      lines: 1,
      imported: 0,
      unchanged: 1,
      bad: 0,
    })
  })

  test('a line with another status than that of the token which is there is refused: nothing is switched by an import', async () => {
    const [on, off] = ['active', 'inactive'].map((status) => line(`Status ${status}`, { credential: status, status }))
    const plain = line('No status', { credential: 'no-status' })
    const first = await cli.run('import', write('status.ndjson', [on, off, plain] as object[]), '--json')
    assert.equal(first.json.imported, 3)
    const other = [plain, { ...off, status: 'active' }, { ...on, status: 'inactive' }] as object[]
    const { code, stderr } = await cli.run('import', write('other-status.ndjson', other), '--json')
    assert.equal(code, 1)
    assert.match(stderr, /line 2: .*already and inactive/)
    assert.match(stderr, /line 3: .*already and active/)
    assert.match(stderr, /2 of 3 lines .*nothing/)
    const silent = { ...off, status: undefined } as object
    const again = await cli.run('import', write('same-status.ndjson', [on, off, silent, plain] as object[]), '--json')
    assert.deepEqual(again.json, { lines: 4, imported: 0, unchanged: 4, bad: 0 })
  })

  const bad: readonly [string, () => object | string, RegExp][] = [
    ['no JSON', () => '{"name": ', /line 2: not valid JSON/],
    ['bytes that are no UTF-8', () => Buffer.from('{"name":"M\xfcnchen"}', 'latin1'), /line 2: not valid UTF-8/],
    ['no object', () => '[1]', /line 2: not .*object/],
    ['a field twice', () => '{"name":"a","name":"b"}', /line 2: .*repeated/],
    ['no name', () => ({ subAccountId: estate.subAccount._id }), /line 2: name is required/],
    ['no sub-account', () => ({ name: 'x' }), /line 2: subAccountId is required/],
    ['an unknown sub-account', () => ({ name: 'x', subAccountId: 'sub_none' }), /line 2: sub-account sub_none /],
    ['an unknown field', () => line('x', { expires_at: '2030-01-01T00:00:00Z' }), /line 2: .*"expires_at"/],
    ['a bad status', () => line('x', { status: 'on' }), /line 2: status .*active or inactive/],
    ['a name with a control character', () => line('a\u0007'), /line 2: name .*control/],
    ['a broken credential of ours', () => line('x', { credential: 'lk_tok_broken' }), /line 2: credential .*Latchkey/],
    ['an account key as credential', () => line('x', { credential: estate.key.key }), /line 2: credential .*Latchkey/],
    ['a time before 1970', () => line('x', { createdAt: '1960-01-01T00:00:00Z' }), /line 2: createdAt .*1970/],
    ['a name of an earlier line', () => line('Fine'), /line 2: .*earlier line .*name/],
    ['a credential of an earlier line', () => line('x', { credential: 'fine' }), /line 2: .*earlier line .*credential/],
    ['an id', () => line('x', { _id: 'tok_old' }), /line 2: _id is not kept/],
    ['a taken name', () => line('Taken', { credential: 'other' }), /line 2: Token name /],
    ['a taken credential', () => line('Free', { credential: 'taken' }), /line 2: .*credential already/],
  ]

  test('every bad line is reported by its number, and a file with one changes nothing', async () => {
    await cli.run('import', write('taken.ndjson', [line('Taken', { credential: 'taken' })]))
    for (const [what, second, message] of bad) {
      const file = write('bad.ndjson', [line('Fine', { credential: 'fine' }), second(), line('After')])
      const { code, stdout, stderr } = await cli.run('import', file, '--json')
      assert.equal(code, 1, what)
      assert.equal(stdout, '')
      assert.match(stderr, message, what)
      assert.match(stderr, /1 of 3 lines .*nothing/)
    }
    const all = (await cli.run('history', 'list', estate.account._id)).stdout
    assert.ok(!all.includes('Fine') && !all.includes('After'))
  })

  test('a file of another format is refused with one line that says what is expected', async () => {
    const csv = ['subAccountId,name,credential', ...Array.from({ length: 300 }, (_, i) => `sub_1,CI ${i},abc${i}`)]
    for (const lines of [csv, ['', '[', '  {"name":"x"}', ']']]) {
      for (const skipBad of [[], ['--skip-bad']]) {
        const { code, stderr } = await cli.run('import', write('other.csv', lines), ...skipBad)
        assert.equal(code, 1)
        assert.match(stderr, /^latchkey: \S+other\.csv is not NDJSON: .*\{"subAccountId".*\n$/)
      }
    }
  })

  test('--skip-bad passes over the bad lines and imports the others', async () => {
    const file = write('some.ndjson', [line('Good 1'), 'nonsense', line('Good 2')])
    const { json, stderr } = await cli.run('import', file, '--skip-bad', '--json')
    assert.deepEqual(json, { lines: 3, imported: 2, unchanged: 0, bad: 1 })
    assert.match(stderr, /line 2/)
  })

  test('a line without a credential is bad for an account that stores none, and others are not', async () => {
    const { account, subAccount } = await cli.estate()
    await cli.run('account', 'set', account._id, '--credentials', 'once', '--yes')
    const missing = line('Missing', { subAccountId: subAccount._id })
    const given = { ...missing, name: 'Given', credential: 'given-1' }
    const refused = await cli.run('import', write('once.ndjson', [missing, given]))
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /line 1: credential is required: acc_\w+ /)
    assert.match(refused.stderr, /1 of 2 lines .*nothing/)
    assert.equal((await cli.run('import', write('once.ndjson', [given]), '--json')).json.imported, 1)
  })

  test('takes a file as other programs write it: with a byte order mark, other ends of line, and line separators in a text', async () => {
    const lines = [
      `\ufeff${JSON.stringify(line('Marked'))}`,
      line('Ended'),
      line('Parted', { metadata: { note: 'a\u2028b' } }),
    ]
    const { json } = await cli.run('import', write('other.ndjson', lines, '\r\n'), '--json')
    assert.deepEqual(json, { lines: 3, imported: 3, unchanged: 0, bad: 0 })
  })

  test('what had expired where it comes from has expired here', async () => {
    const details = { expiresAt: '2021-01-01T00:00:00.000Z', lastUsedAt: null, state: 'expired' }
    const token = { ...line('Expired', { token: 'from-api-expired', details }) }
    assert.equal((await cli.run('import', write('expired.ndjson', [token]), '--json')).json.imported, 1)
    const [{ to }] = (await cli.run('history', 'list', estate.account._id, '--json')).json.items
    assert.deepEqual([to.name, to.status, to.expiresAt], ['Expired', 'active', details.expiresAt])
  })

  test('what cannot be read twice is refused', async () => {
    const { code, stderr } = await cli.run('import', cli.dataDir)
    assert.equal(code, 1)
    assert.match(stderr, /read twice/)
  })

  describe('beside another writer', () => {
    let service: TestService
    before(async () => {
      service = await openService()
    })
    after(() => service.opened.close())

    const silent = { stdout: new PassThrough().resume(), stderr: new PassThrough().resume() }

    /** Three lines that are good, imported by an operator who has one thing done otherwise. */
    async function importThree(alter: (operator: Operator, tokens: readonly BulkToken[]) => Partial<Operator>) {
      const estate = new Estate(service.opened)
      const { id: subAccountId, accountId } = await estate.subAccount(await estate.account())
      const lines = ['a', 'b', 'c'].map((name) => ({ subAccountId, name, credential: `${subAccountId}-${name}` }))
      const { operator } = service
      const altered = alter(
        operator,
        lines.map((each) => ({ ...each, accountId })),
      )
      const acting = new Proxy(operator, {
        get: (own, name: keyof Operator) => altered[name] ?? (own[name] as () => unknown).bind(own),
      })
      const count = async () => (await service.opened.store.listTokens(accountId, FIRST_PAGE))?.total
      return { done: importTokens(acting, write('raced.ndjson', lines), false, new Output(silent, true)), count }
    }

    /** `act` happens when all lines have been checked for the second time, before they are written. */
    const afterChecking = (operator: Operator, act: () => Promise<unknown>): Partial<Operator> => {
      let checked = 0
      return {
        async findByNames(asked) {
          const found = await operator.findByNames(asked)
          if (checked++ === 1) await act()
          return found
        },
      }
    }

    test('a line whose name was taken meanwhile is named, and those before it are there', async () => {
      const { done, count } = await importThree((operator, [, , last]) =>
        afterChecking(operator, () => operator.createTokens(last ? [{ ...last, credential: 'another' }] : [])),
      )
      await assert.rejects(done, /line 3: Token name .*lines before it/)
      assert.equal(await count(), 3)
    })

    test('lines that somebody else has brought in meanwhile are counted as there', async () => {
      const { done } = await importThree((operator, tokens) =>
        afterChecking(operator, () => operator.createTokens(tokens)),
      )
      assert.deepEqual(await done, { lines: 3, imported: 0, unchanged: 3, bad: 0 })
    })

    test('an open outcome is told as one, and not tried again', async () => {
      const { done, count } = await importThree((operator) => ({
        async createTokens(tokens) {
          await operator.createTokens(tokens)
          throw new Failure('outcome-unknown')
        },
      }))
      await assert.rejects(done, /0 of 3 tokens.*or may not/)
      assert.equal(await count(), 3)
    })
  })
})
