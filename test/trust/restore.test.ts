// A store that is put back from a backup lets nobody in who was shut out since.
import assert from 'node:assert/strict'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { verifyHistory } from '../../src/cli/store/doctor.ts'
import { type Latchkey, openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import type { Caller } from '../../src/tokens/model/permissions.ts'
import type { Token } from '../../src/tokens/model/token.ts'
import type { Cli } from '../support/cli.ts'
import { bearer, closeConnections, send } from '../support/http.ts'
import { BackedUp, opened, served } from '../support/restored.ts'
import { makeTargets, type Targets } from '../support/targets.ts'

/** What happens to one token each between the backup and the loss of the store, and whether it then authenticates. */
const FATES: Readonly<
  Record<string, { live: boolean; befall: (it: Latchkey, by: Caller, id: string) => Promise<unknown> }>
> = {
  'left alone': { live: true, befall: async () => {} },
  'switched off': { live: false, befall: (it, by, id) => change(it, by, id, 'inactive') },
  'switched off and on again': {
    live: true,
    befall: async (it, by, id) => {
      await change(it, by, id, 'inactive')
      await change(it, by, id, 'active')
    },
  },
  'switched off, on and off again': {
    live: false,
    befall: async (it, by, id) => {
      for (const status of ['inactive', 'active', 'inactive'] as const) await change(it, by, id, status)
    },
  },
  'renamed and switched off at once': {
    live: false,
    befall: (it, by, id) =>
      it.registry.updateToken(by, id, { name: 'other', status: 'inactive' }, it.operator.origin()),
  },
  deleted: { live: false, befall: (it, by, id) => it.registry.deleteToken(by, id, it.operator.origin()) },
  'rotated at once': { live: false, befall: (it, by, id) => it.registry.rotateToken(by, id, 0, it.operator.origin()) },
  'rotated with an overlap that goes on': {
    live: true,
    befall: (it, by, id) => it.registry.rotateToken(by, id, 3_600, it.operator.origin()),
  },
  'rotated with an overlap, and then at once': {
    live: false,
    befall: async (it, by, id) => {
      await it.registry.rotateToken(by, id, 3_600, it.operator.origin())
      await it.registry.rotateToken(by, id, 0, it.operator.origin())
    },
  },
  'given an expiry that has passed': {
    live: false,
    befall: (it, by, id) => it.registry.updateToken(by, id, { expiresAt: 1 }, it.operator.origin()),
  },
  'given a passed expiry when it was switched off, and switched on again': {
    live: false,
    befall: async (it, by, id) => {
      await it.registry.updateToken(by, id, { status: 'inactive', expiresAt: 1 }, it.operator.origin())
      await change(it, by, id, 'active')
    },
  },
}

const change = ({ registry, operator }: Latchkey, by: Caller, id: string, status: 'active' | 'inactive') =>
  registry.updateToken(by, id, { status }, operator.origin())

const world = new BackedUp()
let targets: Targets
let others: { suspended: Token; resumed: Token; revokedKey: string; rotated: Token; versions: Map<string, number> }

before(async () => {
  const made = await world.living(async (it) => {
    targets = await makeTargets(it, Object.keys(FATES).length)
    const by = it.operator.actFor(targets.accountId)
    const owners = await it.operator.createSubAccounts(
      targets.accountId,
      ['suspended', 'resumed'].map((name) => ({ name, email: 'x@x.example', companyName: 'X' })),
    )
    const [suspended, resumed] = await Array.fromAsync(owners, ({ id: subAccountId }) =>
      it.registry.createToken(by, { subAccountId, name: 'T' }, it.operator.origin()),
    )
    const revoked = await it.operator.createKey(targets.accountId, 'to be revoked', null)
    if (suspended === undefined || resumed === undefined) throw new Error('no tokens')
    return { suspended, resumed, revoked }
  })
  await world.backUp()
  await world.living(async (it) => {
    const by = it.operator.actFor(targets.accountId)
    for (const [n, { befall }] of Object.values(FATES).entries()) await befall(it, by, targets.tokens[n]?.id ?? '')
    const { suspended, resumed, revoked } = made
    const suspend = (token: Token, status: 'active' | 'suspended') =>
      it.registry.updateSubAccount(by, token.subAccount.id, { status }, it.operator.origin())
    await suspend(suspended, 'suspended')
    await suspend(resumed, 'suspended')
    await suspend(resumed, 'active')
    await it.operator.revokeKey(revoked.id)
    const rotated = await it.registry.getToken(by, targets.tokens[6]?.id ?? '')
    const versions = new Map<string, number>()
    for (const { id } of targets.tokens) {
      const row = await it.store.findToken(targets.accountId, id)
      if (row !== undefined) versions.set(id, row.token.version)
    }
    others = { suspended, resumed, revokedKey: revoked.key, rotated, versions }
  })
})
after(() => {
  closeConnections()
  world.dispose()
})

const accepts = async ({ registry }: Latchkey, credential: string) =>
  (await registry.verification.verify(credential)).accepted

async function restored(journal?: string): Promise<Cli> {
  const folder = world.emptyFolder(journal)
  const { code, stderr } = await folder.run('restore', world.file, '--json')
  assert.equal(code, 0, stderr)
  return folder
}

describe('with its journal', () => {
  let folder: Cli
  let it: Latchkey
  before(async () => {
    folder = await restored()
    it = await openLatchkey(readConfig({ LATCHKEY_DATA_DIR: folder.dataDir }))
  })
  after(() => it.store.close())
  for (const [n, [fate, { live }]] of Object.entries(FATES).entries()) {
    test(`a token ${fate} ${live ? 'authenticates' : 'does not authenticate'}`, async () => {
      assert.equal(await accepts(it, targets.tokens[n]?.credential ?? ''), live)
    })
  }

  test('a suspended sub-account is suspended, a resumed one is not, a revoked account key is revoked', async () => {
    assert.equal(await accepts(it, others.suspended.credential), false)
    assert.equal(await accepts(it, others.resumed.credential), true)
    await assert.rejects(it.registry.authenticate(others.revokedKey), /Invalid token/)
    assert.equal((await it.registry.authenticate(targets.key)).accountId, targets.accountId)
  })

  test('the credential that a token was rotated to works, is the one that is shown, and is found by its end', async () => {
    const { id, credential } = others.rotated
    assert.equal(await accepts(it, credential), true)
    const by = it.operator.actFor(targets.accountId)
    assert.equal((await it.registry.getToken(by, id)).credential, credential)
    const found = await it.registry.listTokens(by, {
      page: 1,
      limit: 10,
      narrowing: { credentialEnd: credential.slice(-4) },
    })
    assert.ok(found.items.some((token) => token.id === id))
  })

  test('no version that was seen comes again for something else, totals are right, and the history is whole', async () => {
    const by = it.operator.actFor(targets.accountId)
    const { items, total } = await it.registry.listTokens(by, { page: 1, limit: 100 })
    assert.equal(items.length, total)
    for (const status of ['active', 'inactive'] as const) {
      const listed = await it.registry.listTokens(by, { page: 1, limit: 100, status })
      assert.equal(listed.total, items.filter((token) => token.status === status).length)
    }
    for (const [id, version] of others.versions) {
      assert.ok(((await it.store.findToken(targets.accountId, id))?.token.version ?? 0) >= version)
    }
    assert.deepEqual((await verifyHistory(it)).problems, [])
    const history = await it.registry.listHistory(by, { page: 1, limit: 100, tokenId: targets.tokens[5]?.id })
    assert.equal(history.items[0]?.action, 'token.delete')
  })

  test('it may be restored again and again, from a backup of the restored store too', async () => {
    const folder = await restored()
    const again = join(folder.dataDir, 'again.lkb')
    assert.equal((await folder.run('backup', again)).code, 0)
    await opened(folder.dataDir, (it) =>
      change(it, it.operator.actFor(targets.accountId), targets.tokens[0]?.id ?? '', 'inactive'),
    )
    for (const file of [again, world.file]) {
      const ran = await folder.run('restore', file, '--replace', '--json')
      assert.equal(ran.code, 0, ran.stderr)
      await opened(folder.dataDir, async (it) => {
        for (const [n, { live }] of Object.values(FATES).entries()) {
          assert.equal(await accepts(it, targets.tokens[n]?.credential ?? ''), live && n > 0)
        }
      })
    }
  })
})

describe('without it nobody gets in', () => {
  /** What has become of the journal when the store is put back, and whether it still tells of the first revocation. */
  const losses: Readonly<Record<string, { tells: boolean; inflict: (journal: string) => void }>> = {
    missing: { tells: false, inflict: (journal) => rmSync(journal) },
    'cut short within a line': {
      tells: true,
      inflict: (journal) => truncateSync(journal, readFileSync(journal).length - 20),
    },
    'cut short before the backup': { tells: false, inflict: (journal) => truncateSync(journal, 10) },
    'without one of its lines': {
      tells: true,
      inflict: (journal) => {
        const lines = readFileSync(journal, 'latin1').split('\n')
        lines.splice(3, 1)
        writeFileSync(journal, lines.join('\n'))
      },
    },
    'of another store': {
      tells: false,
      inflict: (journal) => writeFileSync(journal, `${'x'.repeat(43)} {}\n`.repeat(50)),
    },
  }
  async function restoredWithout(inflict: (journal: string) => void): Promise<Cli> {
    const copy = world.temporaryFile('revocations.log')
    copyFileSync(world.journal, copy)
    inflict(copy)
    const folder = world.emptyFolder(copy)
    const ran = await folder.run('restore', world.file)
    assert.equal(ran.code, 1)
    assert.match(ran.stderr, /revocation journal .* --accept-revocation-loss/)
    return folder
  }

  for (const [loss, { tells, inflict }] of Object.entries(losses)) {
    test(`where the journal is ${loss}, until the operator accepts what is lost`, async () => {
      const folder = await restoredWithout(inflict)
      const [kept, revoked] = targets.tokens.map(({ credential }) => credential)
      const unknown = { code: 'revocations-unknown' }
      await opened(folder.dataDir, async ({ registry, operator }) => {
        for (const credential of [kept, revoked])
          await assert.rejects(registry.verification.verify(credential ?? ''), unknown)
        for (const key of [targets.key, others.revokedKey]) await assert.rejects(registry.authenticate(key), unknown)
        await assert.rejects(operator.createAccount('X'), unknown)
      })
      assert.equal((await folder.run('restore', '--accept-revocation-loss')).code, 0)
      // The control: what the journal does not tell is revived.
      await opened(folder.dataDir, async (it) => {
        assert.equal(await accepts(it, kept ?? ''), true)
        assert.equal(await accepts(it, revoked ?? ''), !tells)
      })
    })
  }

  test('nor into a copy of it', async () => {
    const folder = await restoredWithout((journal) => rmSync(journal))
    const copy = join(folder.dataDir, 'copy')
    const { code, stderr } = await folder.run('copy', '--to', copy)
    assert.deepEqual([code, existsSync(copy)], [1, false])
    assert.match(stderr, /revocations .*`latchkey doctor`/)
  })

  test('an acceptance that fails or is interrupted loses nothing more', async () => {
    const folder = await restoredWithout(losses['cut short within a line']?.inflict ?? assert.fail)
    const journal = join(folder.dataDir, 'revocations.log')
    const accept = () => folder.run('restore', '--accept-revocation-loss')
    const lost = readFileSync(journal)
    mkdirSync(`${journal}.new`)
    assert.equal((await accept()).code, 1)
    assert.deepEqual(readFileSync(journal), lost)
    rmdirSync(`${journal}.new`)
    assert.equal((await accept()).code, 0)
    // As a process leaves it that is killed after its commit.
    const aside = readdirSync(folder.dataDir).find((name) => name.startsWith('revocations.log.lost-'))
    renameSync(journal, `${journal}.new`)
    renameSync(join(folder.dataDir, aside ?? ''), journal)
    await opened(folder.dataDir, async (it) => {
      assert.equal(await accepts(it, targets.tokens[0]?.credential ?? ''), true)
      assert.equal(await accepts(it, targets.tokens[1]?.credential ?? ''), false)
    })
  })

  test('over HTTP: 503 with the reason, and the doctor says what to do', async () => {
    const folder = await restoredWithout((journal) => rmSync(journal))
    await served(folder.dataDir, async (url) => {
      const asks = [
        { path: '/api/v1/verify', headers: [bearer(targets.tokens[0]?.credential ?? '')] },
        { path: '/api/v1/apiClient/token', headers: [bearer(targets.key)] },
      ]
      for (const ask of asks) {
        const heard = await send(url, ask)
        assert.deepEqual([heard.status, heard.headers['x-latchkey-error']], [503, 'revocations-unknown'])
        assert.match(heard.json.error.message, /`latchkey doctor`/)
      }
      const ready = await send(url, { path: '/readyz' })
      assert.equal(ready.status, 503)
      assert.match(ready.json.reason, /record of revocations/)
      assert.equal((await send(url, { path: '/healthz' })).status, 200)
    })
    const doctor = await folder.run('doctor')
    assert.equal(doctor.code, 1)
    assert.match(doctor.stdout, /revocations .*latchkey restore --accept-revocation-loss/)
  })

  test('a journal that is put back opens the doors of a running server, and shuts out who was shut out', async () => {
    const folder = await restoredWithout((journal) => rmSync(journal))
    await served(folder.dataDir, async (url) => {
      const verify = async (n: number) =>
        (await send(url, { path: '/api/v1/verify', headers: [bearer(targets.tokens[n]?.credential ?? '')] })).status
      assert.equal(await verify(0), 503)
      copyFileSync(world.journal, join(folder.dataDir, 'revocations.log'))
      let status = await verify(0)
      while (status === 503) status = await verify(0)
      assert.equal(status, 204)
      assert.equal(await verify(1), 401)
    })
  })
})

test('a journal that is lost under a running server shuts it, and opens it when it is put back', async () => {
  const folder = await restored()
  const journal = join(folder.dataDir, 'revocations.log')
  const [first, second] = [targets.tokens[0], targets.tokens[2]]
  await served(folder.dataDir, async (url) => {
    const verify = async () =>
      (await send(url, { path: '/api/v1/verify', headers: [bearer(first?.credential ?? '')] })).status
    const disable = async () => {
      const path = `/api/v1/apiClient/token/${second?.id}`
      return (await send(url, { method: 'PUT', path, headers: [bearer(targets.key)], body: { status: 'inactive' } }))
        .status
    }
    const ready = async () => (await send(url, { path: '/readyz' })).status
    assert.deepEqual([await verify(), await verify(), await ready()], [204, 204, 200])
    const kept = readFileSync(journal)
    rmSync(journal)
    assert.deepEqual([await disable(), await verify(), await ready()], [503, 503, 503])
    writeFileSync(journal, kept)
    while ((await ready()) !== 200) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([await verify(), await disable()], [204, 200])
  })
})

test('a database set back by hand is brought up to date by its journal when it is opened', async () => {
  const folder = await restored()
  const database = join(folder.dataDir, 'latchkey.db')
  const former = world.temporaryFile('former.db')
  copyFileSync(database, former)
  const ids = [targets.tokens[0], targets.tokens[2]].map((token) => token?.id ?? '')
  await opened(folder.dataDir, async (it) => {
    for (const id of ids) await change(it, it.operator.actFor(targets.accountId), id, 'inactive')
  })
  renameSync(former, database)
  await opened(folder.dataDir, async (it) => {
    assert.equal(it.replayed, 2)
    for (const n of [0, 2]) assert.equal(await accepts(it, targets.tokens[n]?.credential ?? ''), false)
  })
})

test('nobody is signed in to a restored store: those who signed out since the backup would be back', async () => {
  const source = new BackedUp()
  try {
    const person = { subject: 'alice', email: null, claims: {} }
    const cookie = await source.living(async ({ operator, registry }) => {
      const { id } = await operator.createAccount('Acme')
      const started = await registry.sessions.start(person, id)
      await registry.sessions.find(started)
      return started
    })
    await source.backUp()
    const folder = source.emptyFolder()
    assert.equal((await folder.run('restore', source.file)).code, 0)
    await opened(folder.dataDir, async ({ registry }) => {
      await assert.rejects(registry.sessions.find(cookie), { code: 'token-invalid' })
    })
    await source.living(({ registry }) => registry.sessions.find(cookie))
  } finally {
    source.dispose()
  }
})
