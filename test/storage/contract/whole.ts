// What is asked of the whole store, and what outlives it: each test has a store to itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VAULT } from '../../../src/tokens/model/tables.ts'
import type { Store } from '../../../src/tokens/service/store.ts'
import { askFor, rate } from '../../support/limits.ts'
import { runs } from '../../support/runs.ts'
import {
  credentialOf,
  deleteToken,
  Estate,
  FIRST_PAGE,
  type OpenEmptyStore,
  plain,
  updateToken,
} from '../../support/store.ts'

/** More than all connections and threads have under way at a time. */
const CHANGES = runs(150, 400)

type NotAsked = 'during' | 'close'

export function describeWhole(open: OpenEmptyStore): void {
  async function withStore(work: (estate: Estate) => Promise<void>): Promise<void> {
    const opened = await open()
    try {
      await work(new Estate(opened))
    } finally {
      await opened.close()
    }
  }

  test('an empty store answers, and holds nothing', () =>
    withStore(async ({ store }) => {
      await store.ping()
      assert.deepEqual(await store.listAccounts(), [])
      assert.deepEqual(await store.countTokens(), { active: 0, inactive: 0 })
      assert.deepEqual(await Array.fromAsync(store.readChains()), [])
      assert.deepEqual(await store.listTokens('acc_nobody', FIRST_PAGE), { items: [], total: 0 })
      assert.deepEqual(await store.listTokens('acc_nobody', { ...FIRST_PAGE, search: 'x' }), { items: [], total: 0 })
    }))

  test('tokens of all accounts are counted by status, each once', () =>
    withStore(async (estate) => {
      for (let i = 0; i < 3; i++) {
        const account = await estate.account()
        const subAccount = await estate.subAccount(account)
        const { id } = await estate.token(subAccount, 'a')
        await estate.token(subAccount, 'b', { status: 'inactive' })
        await estate.token(subAccount, 'c')
        if (i === 0) await deleteToken(estate.store, account.id, id, estate.origin())
        if (i === 1) await updateToken(estate.store, account.id, id, { status: 'inactive' }, estate.origin())
      }
      assert.deepEqual(await estate.store.countTokens(), { active: 4, inactive: 4 })
    }))

  test('all that was answered is there after closing and opening again', () =>
    withStore(async (estate) => {
      const account = await estate.account()
      const key = await estate.key(account)
      const subAccount = await estate.subAccount(account)
      const kept = await estate.token(subAccount, 'kept')
      const gone = await estate.token(subAccount, 'gone')
      await updateToken(estate.store, account.id, kept.id, { name: 'renamed', status: 'inactive' }, estate.origin())
      await deleteToken(estate.store, account.id, gone.id, estate.origin())
      await estate.store.saveUses(new Map([[kept.id, 7]]))
      const questions = async (store: Store) => ({
        accounts: (await store.listAccounts()).map(plain),
        key: plain((await store.findKey(credentialOf(key.digest))) ?? {}),
        token: plain((await store.findToken(account.id, kept.id))?.token ?? {}),
        lastUsedAt: (await store.findActivity([kept.id], 0)).get(kept.id)?.lastUsedAt,
        gone: await store.findToken(account.id, gone.id),
        found: (await store.listTokens(account.id, { ...FIRST_PAGE, search: 'RENAMED' }))?.total,
        counts: await store.countTokens(),
        subAccount: (await store.findSubAccount(account.id, subAccount.id))?.tokens,
        history: (await store.listHistory(account.id, FIRST_PAGE)).items.map(plain),
      })
      const before = await questions(estate.store)
      assert.equal(before.token.name, 'renamed')
      assert.equal(before.found, 1)
      await estate.opened.reopen()
      assert.deepEqual(await questions(estate.store), before)
    }))

  test('closing waits for every change under way, however many there are', () =>
    withStore(async (estate) => {
      const account = await estate.account()
      const subAccount = await estate.subAccount(account)
      const changes = Array.from({ length: CHANGES }, (_, i) => estate.token(subAccount, `t${i}`))
      const [results] = await Promise.all([Promise.allSettled(changes), estate.opened.reopen()])
      assert.deepEqual(
        results.filter(({ status }) => status === 'rejected'),
        [],
      )
      assert.equal((await estate.store.listTokens(account.id, FIRST_PAGE))?.total, CHANGES)
    }))

  test('closing again changes nothing', () =>
    withStore(async ({ store }) => {
      await store.close()
      await Promise.all([store.close(), store.close()])
    }))

  test('a closed store refuses every question and every change as unavailable', () =>
    withStore(async (estate) => {
      const account = await estate.account()
      const closed = estate.store
      await estate.opened.reopen()
      const origin = estate.origin()
      const subAccount = estate.subAccountRecord(account)
      const [token, sealed] = [estate.tokenRecord(subAccount, 'late'), estate.sealed()]
      const key = {
        id: 'key_x',
        accountId: account.id,
        name: 'late',
        createdAt: 1,
        expiresAt: null,
        revokedAt: null,
        permissions: null,
        lastUsedAt: null,
      }
      const session = estate.sessionRecord(account)
      const webhook = estate.webhookRecord(account)
      const operation = { ...estate.bulkRecord(account), total: 0, parts: 0, stamp: sealed }
      const about = { operationId: 'blk_x', accountId: account.id, createdAt: 1 }
      const part = { ...about, number: 0, tokens: '[]', changes: null, stamp: sealed }
      const overview = { expiredBefore: 1, expiringBefore: 2, idleSince: 0, weeks: [1, 2], largest: 1 }
      // A method that is added to the store has to be added here.
      const attempts: Record<Exclude<keyof Store, NotAsked>, () => unknown> = {
        findKeyById: () => closed.findKeyById('key_x'),
        findSessionById: () => closed.findSessionById('ses_x'),
        findPortalSession: () => closed.findPortalSession('por_x'),
        listPortalSessions: () => closed.listPortalSessions(account.id, { ...FIRST_PAGE, at: 0, within: null }),
        closePortal: () => closed.closePortal(subAccount, 'por_x', origin),
        openPortal: () => closed.openPortal(subAccount, estate.portalSession(subAccount), origin),
        saveRecent: () => closed.saveRecent(new Map([[token.id, [{ reason: null, address: null, at: 0 }]]])),
        findRecent: () => closed.findRecent(token.id),
        addUsage: () => closed.addUsage(0, [{ source: 'prc_x', number: 1, tokens: [] }], 0),
        ageUsage: () => closed.ageUsage({ day: 0, month: 0, busiestDay: 0, recentDay: 0, reportedAt: 0 }, 1),
        readUsage: () =>
          closed.readUsage(account.id, { subjects: [account.id], days: [0], months: [0], acceptedOnly: false }),
        readBusiest: () => closed.readBusiest(account.id, [account.id], [0]),
        insertAccount: () => closed.insertAccount({ ...account, id: 'acc_late' }, origin),
        findAccount: () => closed.findAccount(account.id),
        listAccounts: () => closed.listAccounts(),
        updateAccount: () => closed.updateAccount(account.id, { name: 'late' }, origin),
        insertKey: () => closed.insertKey({ ...key, digest: estate.digest() }, origin),
        findKey: () => closed.findKey(credentialOf(estate.digest())),
        exportTokens: () => closed.exportTokens(account.id, {}, { before: undefined, size: 1 }),
        exportSubAccounts: () => closed.exportSubAccounts(account.id, {}, { before: undefined, size: 1 }),
        exportKeys: () => closed.exportKeys(account.id, {}, { before: undefined, size: 1 }),
        listKeys: () => closed.listKeys(account.id, FIRST_PAGE),
        revokeKey: () => closed.revokeKey('key_x', origin),
        spend: () => closed.spend([estate.digest()], 0),
        insertSession: () => closed.insertSession(session, origin),
        findSession: () => closed.findSession(credentialOf(estate.digest())),
        listSessions: () => closed.listSessions('~', 1),
        renewSession: () => closed.renewSession('ses_x', 1),
        chooseAccount: () => closed.chooseAccount('ses_x', account.id, origin),
        deleteSession: () => closed.deleteSession('ses_x'),
        revokeSession: () => closed.revokeSession(account.id, 'ses_x', origin),
        insertSubAccounts: () => closed.insertSubAccounts([subAccount], origin),
        findRequest: () => closed.findRequest(account.id, 'key_x', 'k'),
        findSubAccount: () => closed.findSubAccount(account.id, 'sub_x'),
        findOwner: () => closed.findOwner('tok_x'),
        listSubAccounts: () => closed.listSubAccounts(account.id, FIRST_PAGE),
        updateSubAccount: () => closed.updateSubAccount(account.id, 'sub_x', { status: 'suspended' }, origin),
        insertTokens: () => closed.insertTokens([token], origin),
        findToken: () => closed.findToken(account.id, 'tok_x'),
        findTokensByNames: () => closed.findTokensByNames([{ subAccountId: 'sub_x', name: 'x' }]),
        listTokens: () => closed.listTokens(account.id, { ...FIRST_PAGE, search: 'x' }),
        changeToken: () => updateToken(closed, account.id, 'tok_x', { name: 'x' }, origin),
        countTokens: () => closed.countTokens(),
        findKnown: () => closed.findKnown(account.id, ['00']),
        countExpiring: () => closed.countExpiring(1, 2),
        readOverview: () => closed.readOverview(account.id, overview),
        findNames: () => closed.findNames(account.id, ['tok_x']),
        findOwners: () => closed.findOwners(account.id, ['tok_x']),
        findCandidateOf: () => closed.findCandidateOf('tok_x'),
        findCandidate: () => closed.findCandidate(credentialOf(estate.digest())),
        findActivity: () => closed.findActivity(['tok_x'], 1),
        reserveUnits: () => closed.reserveUnits(account.id, askFor(1, { subject: 'tok_x', limit: rate(1, 1) })),
        findLimits: () => closed.findLimits(['tok_x']),
        saveUses: () => closed.saveUses(new Map([['tok_x', 1]])),
        listHistory: () => closed.listHistory(account.id, FIRST_PAGE),
        readFeed: () =>
          closed.readFeed(account.id, { after: 0, upTo: 1, limit: 1 }, { subAccounts: null, actions: null }),
        readHeads: () => closed.readHeads([account.id]),
        readChains: () => Array.fromAsync(closed.readChains()),
        findNews: () => closed.findNews(undefined, ['token.update'], 1),
        findMark: () => closed.findMark(account.id),
        insertVerifier: () => closed.insertVerifier(estate.verifierRecord(account), origin),
        renewVerifiers: () => closed.renewVerifiers([{ id: 'vfr_x', accountId: account.id, acked: undefined, at: 1 }]),
        listVerifiers: () => closed.listVerifiers({}),
        evictVerifier: () => closed.evictVerifier(account.id, 'vfr_x', origin),
        endLease: () => closed.endLease('vfr_x', 1),
        insertWebhook: () => closed.insertWebhook(webhook, origin),
        listWebhooks: () => closed.listWebhooks(account.id),
        findWebhook: () => closed.findWebhook(account.id, 'whk_x'),
        changeWebhook: () => closed.changeWebhook(account.id, 'whk_x', { kind: 'delete' }, origin),
        listDeliveries: () => closed.listDeliveries(account.id, 'whk_x', FIRST_PAGE),
        readBehind: () => closed.readBehind(webhook),
        readLagging: () => closed.readLagging(1),
        findDue: () => closed.findDue('', 1, 1, 'nobody'),
        findDelivering: () => closed.findDelivering('whk_x'),
        settleDelivery: () =>
          closed.settleDelivery('whk_x', { seq: 1, event: 'x' }, { kind: 'delivered', responseStatus: 200 }, 1),
        passEvents: () => closed.passEvents('whk_x', 1),
        claim: () => closed.claim('x', 'nobody', 1),
        renewClaims: () => closed.renewClaims('nobody', 1),
        releaseClaims: () => closed.releaseClaims('nobody'),
        findUnannounced: () => closed.findUnannounced(1, 2, 1, 1),
        announceExpiry: () => closed.announceExpiry(account.id, [{ ...token, endsAt: 1 }], { days: 1, ms: 1 }, 1),
        insertBulk: () => closed.insertBulk(estate.bulkRecord(account), { total: 0, parts: [] }, origin),
        chooseBulk: () => closed.chooseBulk(account.id, FIRST_PAGE),
        countRunningBulk: () => closed.countRunningBulk(account.id),
        undoBulk: () => closed.undoBulk(account.id, 'blk_x', null, origin),
        findBulk: () => closed.findBulk(account.id, 'blk_x'),
        listBulk: () => closed.listBulk(account.id, { ...FIRST_PAGE, scope: null }),
        listRunningBulk: () => closed.listRunningBulk('', 1),
        findBulkPart: () => closed.findBulkPart('blk_x', 0),
        advanceBulk: () => closed.advanceBulk(operation, part, 1),
        endBulk: () => closed.endBulk(operation, null, 1),
        resealWebhooks: () => closed.resealWebhooks([{ id: 'whk_x', before: sealed, after: sealed }]),
        readVault: () => closed.readVault(),
        listRetiredMasterKeys: () => closed.listRetiredMasterKeys(),
        changeMasterKey: () => closed.changeMasterKey({ from: 'a', to: 'b', sealedSecret: sealed, at: 1 }),
        resealTokens: () => closed.resealTokens([{ id: 'tok_x', before: sealed, after: sealed }]),
        retireMasterKey: () => closed.retireMasterKey('x', 1),
        readRows: () => closed.readRows(VAULT, undefined, 1),
        ping: () => closed.ping(),
      }
      for (const [name, attempt] of Object.entries(attempts)) {
        await assert.rejects(async () => attempt(), { code: 'unavailable' }, name)
      }
    }))
}
