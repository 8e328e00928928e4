// Every view and dialog of the console, how one gets there, and an account to look at in them.
import type { Locator, Page } from 'playwright-core'
import type { RecentVerifications } from '../../src/tokens/verify/recent-verifications.ts'
import { changeAnswers, type Tenant, type TokenPage, type World } from './world.ts'

type Shot = readonly [name: string, path: string, prepare?: (page: Page) => Promise<unknown>]

/** Wide and light everything is looked at; elsewhere dialogs are the same but for their colours: the views, and one of
 * each kind of dialog, are enough. */
export const EVERYWHERE = [
  ...[
    'overview',
    'tokens',
    'selection',
    'token',
    'disable',
    'history-of-a-token',
    'sub-accounts',
    'sub-account',
    'operations',
    'operation',
    'history',
    'keys',
    'leaks-found',
  ],
]
export const ALSO_DARK = ['bulk', 'create-key', 'who-am-i', 'menu', 'trouble']

const first = (page: Page, name: RegExp) => page.getByRole('button', { name }).first()

const openDialog = async (page: Page, opener: Locator) => {
  await opener.click()
  await page.getByRole('dialog').waitFor()
}

const openFirstMenu = async (page: Page, item: string) => {
  await first(page, /^Actions for/).click()
  await page.getByRole('menuitem', { name: item }).click()
}

/** The credentials of the first tokens of the account below, which its key may show. */
const findLeaked = async (page: Page) => {
  const credentials = await page.evaluate(async () => {
    const headers = { authorization: `Bearer ${sessionStorage.getItem('latchkey.account-key')}` }
    const answer = await fetch('/api/v1/apiClient/token?limit=6', { headers })
    const { data } = (await answer.json()) as { data: { items: { token: string }[] } }
    return data.items.map(({ token }) => token)
  })
  await page.getByLabel('Text', { exact: true }).fill(`${credentials.join('\n')}\nlk_key_${'x'.repeat(40)}`)
  await page.getByRole('button', { name: 'Find credentials' }).click()
  await page.getByText('Credentials of 6 tokens').waitFor()
}

/** Of the account below: the active tokens of its suspended sub-account that have not expired. */
const SUSPENDED = 5

export const SHOTS: readonly Shot[] = [
  [
    'overview',
    '',
    async (page) => {
      await changeAnswers<{ tokens: object }>(page, '**/apiClient/overview', ({ tokens }) =>
        Object.assign(tokens, { suspended: SUSPENDED }),
      )
      await page.reload()
      await page.getByRole('link', { name: /suspended tokens$/ }).waitFor()
      await page.unroute('**/apiClient/overview')
    },
  ],
  ['tokens', 'tokens'],
  [
    'token',
    'tokens?search=zapier',
    async (page) => {
      await page.getByRole('link', { name: 'Zapier', exact: true }).last().click()
      await page.getByText('created the token').waitFor()
      await page.getByText(/^Refused .* 203\.0\.113\.9: .*address/).waitFor()
    },
  ],
  [
    'selection',
    'tokens?limit=5',
    async (page) => {
      for (const index of [0, 1, 4])
        await page
          .getByLabel(/^Select (?!all)/)
          .nth(index)
          .check()
      await page.getByText('3 tokens selected').waitFor()
    },
  ],
  ['disable', 'tokens?search=mobile', (page) => openDialog(page, first(page, /^Disable Mobile/))],
  [
    'bulk',
    'tokens?limit=5',
    async (page) => {
      await page.getByLabel('Select all on this page').check()
      const selected = page.getByRole('group', { name: 'Selected tokens' })
      await openDialog(page, selected.getByRole('button', { name: 'Disable' }))
    },
  ],
  [
    'rotate',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('No, this is routine').check()
    },
  ],
  [
    'rotate-leaked',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('Yes, or it may have').check()
    },
  ],
  [
    'credential-states',
    'tokens?limit=5',
    async (page) => {
      const until = new Date(Date.now() + 24 * 60 * 60 * 1000).toISOString()
      await changeAnswers<TokenPage>(page, '**/apiClient/token?*', ({ items: [former, unreadable] }) => {
        Object.assign(former?.details ?? {}, { formerCredentialUntil: until })
        Object.assign(unreadable ?? {}, { token: '' })
      })
      await page.reload()
      await page.getByText('Cannot be read').waitFor()
      await page.unroute('**/apiClient/token?*')
    },
  ],
  [
    'scrolled',
    'tokens',
    async (page) => {
      await page
        .getByLabel(/^Select (?!all)/)
        .nth(9)
        .check()
      await page.evaluate(() => window.scrollTo(0, 420))
    },
  ],
  ['columns', 'tokens?limit=5', (page) => page.getByRole('button', { name: 'Columns' }).click()],
  [
    'matching',
    'tokens?limit=5',
    async (page) => {
      await page.getByLabel('Select all on this page').check()
      await page.getByRole('button', { name: /that match…$/ }).click()
      await page.getByLabel('What is done').waitFor()
    },
  ],
  [
    'page-number',
    'tokens?limit=5',
    async (page) => {
      await page.getByLabel('Page number').fill('12')
      await page.getByText('Pages are').waitFor()
    },
  ],
  [
    'found-by-id',
    'tokens?limit=5',
    async (page) => {
      const id = (await page.locator('tr[data-id]').first().getAttribute('data-id')) ?? ''
      await page.goto(page.url().replace(/\?.*/, `?search=${id}`))
      await page.getByText('1 token', { exact: true }).waitFor()
    },
  ],
  [
    'linked-key',
    'tokens?limit=5',
    async (page) => {
      // The account that is signed in answers for the other one.
      const key = await page.evaluate(() => sessionStorage.getItem('latchkey.account-key'))
      await page.route('**/whoami', (route) =>
        route.continue({ headers: { ...route.request().headers(), authorization: `Bearer ${key}` } }),
      )
      await page.evaluate(() => location.assign('#key=lk_key_another'))
      await page.getByText('an account key of').waitFor()
      await page.unroute('**/whoami')
    },
  ],
  ['create', 'tokens?limit=5', (page) => openDialog(page, page.getByRole('button', { name: 'Create token' }))],
  [
    'create-extras',
    'tokens?limit=5',
    async (page) => {
      await openDialog(page, page.getByRole('button', { name: 'Create token' }))
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('combobox', { name: 'Sub-account' }).fill('Lisbon')
      await page.getByRole('option', { name: /Lisbon/ }).click()
      await dialog.getByText('Tags, metadata and policy').click()
      await dialog.getByLabel('Only these scopes').check()
      await dialog.getByText('Its sub-account: orders:*').waitFor()
    },
  ],
  ['rename', 'tokens?limit=5', (page) => first(page, /^Rename/).click()],
  ['menu', 'tokens?limit=10', (page) => first(page, /^Actions for/).click()],
  [
    'history-of-a-token',
    'tokens?search=zapier',
    async (page) => {
      await openFirstMenu(page, 'History')
      await page.getByRole('dialog').getByText('created the token').waitFor()
    },
  ],
  [
    'delete',
    'tokens?limit=5',
    async (page) => {
      await openFirstMenu(page, 'Delete')
      await page.getByRole('dialog').waitFor()
    },
  ],
  ['no-match', 'tokens?search=nothing', (page) => page.getByText('No token matches').waitFor()],
  ['sub-accounts', 'sub-accounts'],
  [
    'sub-account',
    'sub-accounts',
    async (page) => {
      await page.getByRole('link', { name: 'Lisbon studio', exact: true }).click()
      await page.getByRole('region', { name: 'Tokens of Lisbon studio' }).getByRole('rowheader').first().waitFor()
      await page.getByText('changed the policy').waitFor()
    },
  ],
  ['suspend', 'sub-accounts', (page) => openDialog(page, first(page, /^Suspend/))],
  [
    'portal-choice',
    'sub-accounts',
    async (page) => {
      await page.getByRole('link', { name: 'Lisbon studio', exact: true }).click()
      await openDialog(page, first(page, /^Portal/))
    },
  ],
  ['operations', 'history/operations', (page) => page.getByRole('button', { name: 'Undo' }).first().waitFor()],
  [
    'operation',
    'history/operations',
    async (page) => {
      await page.getByRole('link', { name: 'Expire 4 tokens' }).click()
      await page.getByText('4 of 4 tokens expired').waitFor()
    },
  ],
  [
    'undo-operation',
    'history/operations',
    (page) => openDialog(page, page.getByRole('button', { name: 'Undo Expire 4 tokens' })),
  ],
  ['history', 'history'],
  ['keys', 'keys'],
  ['create-key', 'keys', (page) => openDialog(page, page.getByRole('button', { name: 'Create key' }))],
  ['revoke-key', 'keys', (page) => openDialog(page, first(page, /^Revoke/))],
  [
    'who-am-i',
    'keys',
    async (page) => {
      await page.getByRole('button', { name: /^Demo account/ }).click()
      await page.getByText('Shown when you ask').waitFor()
    },
  ],
  ['leaks', 'leaks'],
  ['leaks-found', 'leaks', findLeaked],
  [
    'leaks-question',
    'leaks',
    async (page) => {
      await findLeaked(page)
      await openDialog(page, page.getByRole('button', { name: /^Switch off/ }))
    },
  ],
  ['verifiers', 'verifiers'],
  // With somebody or something in them: people.test.ts and webhooks.test.ts.
  ['people', 'people', (page) => page.getByRole('heading', { name: /^Nobody signs in/ }).waitFor()],
  ['webhooks', 'webhooks', (page) => page.getByText('No webhooks yet').waitFor()],
  ['not-found', 'nowhere'],
  [
    'new-credential',
    'tokens?search=mobile',
    async (page) => {
      await openFirstMenu(page, 'Rotate credential')
      await page.getByLabel('No, this is routine').check()
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate credential' }).click()
      await page.getByTestId('new-credential').waitFor()
    },
  ],
  [
    'trouble',
    'tokens?limit=5',
    async (page) => {
      await page.route('**/api/v1/**', (route) => route.abort())
      await page.reload()
      await page.getByRole('alert').waitFor()
      await page.unroute('**/api/v1/**')
    },
  ],
]

/** An account that shows every state a token can be in. */
export async function showcase(world: World): Promise<Tenant> {
  const day = 24 * 60 * 60 * 1000
  const now = Date.now()
  const owners = ['Berlin agency', 'Lisbon studio', 'Northwind reseller', 'Paused tenant']
  const uses = ['CI pipeline', 'Mobile app', 'Nightly import', 'Billing export', 'Status page', 'Zapier', 'Warehouse']
  const sketches = uses.flatMap((name, use) =>
    owners.map((_, owner) => ({
      name,
      owner,
      status: use === 2 ? ('inactive' as const) : ('active' as const),
      createdAt: now - (use * 11 + owner * 3 + 1) * day,
      expiresAt: use === 4 ? now - day : use === 5 ? now + 14 * day : null,
    })),
  )
  const tenant = await world.tenant(sketches.toReversed(), owners, 'Demo account')
  const { registry, operator, store } = world.running
  const lastUses = tenant.tokens
    .filter((_, index) => index % 3 !== 0)
    .map(({ id }, i) => [id, now - i * 7 * 3_600_000] as const)
  await store.saveUses(new Map(lastUses))
  const caller = operator.actFor(tenant.accountId)
  const origin = () => ({ ...operator.origin(), by: tenant.keyId, address: '192.0.2.7' })
  await registry.updateSubAccount(caller, tenant.subAccounts[3]?.id ?? '', { status: 'suspended' }, origin())
  await registry.updateSubAccount(
    caller,
    tenant.subAccounts[1]?.id ?? '',
    { policy: { scopes: ['orders:*'], rate: { limit: 100, seconds: 60 } } },
    origin(),
  )
  const zapier = tenant.tokens.findLast(({ name }) => name === 'Zapier')?.id ?? ''
  await registry.updateToken(caller, zapier, { status: 'inactive' }, origin())
  await registry.rotateToken(caller, zapier, 24 * 60 * 60, origin())
  await registry.updateToken(caller, zapier, { status: 'active' }, origin())
  const recent: RecentVerifications = [
    { reason: 'address', address: '203.0.113.9', at: now - 12 * 60_000 },
    { reason: null, address: '2001:db8:1234:5678:9abc:def0:1234:5678', at: now - 2 * 3_600_000 },
    { reason: null, address: '198.51.100.24', at: now - 5 * 3_600_000 },
    { reason: 'scope', address: '2001:db8:1234:5678:9abc:def0:1234:5678', at: now - 8 * day },
  ]
  const all = tenant.tokens.filter(({ name }) => name === 'Zapier')
  await store.saveRecent(new Map(all.map(({ id }) => [id, recent])))

  const mistake = await registry.bulk.order(caller, { action: 'disable', filter: { search: 'billing' } }, origin())
  await registry.bulk.undo(caller, mistake.id, origin())
  const reason = 'Nobody imports by night any more'
  await registry.bulk.order(caller, { action: 'expire', filter: { search: 'nightly' }, reason }, origin())
  return tenant
}
