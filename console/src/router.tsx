// Every address of the console, with the view it shows and the search parameters that view understands.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { Frame } from './app/frame.tsx'
import { NotFound } from './app/not-found.tsx'
import { ViewError } from './app/view-error.tsx'
import { historyList } from './history/history-filters.ts'
import { keyList } from './keys/key-search.ts'
import { loadLater, loadTokens } from './load.ts'
import { operationList } from './operations/operation-search.ts'
import { OverviewView } from './overview/overview-view.tsx'
import { peopleList } from './people/people-search.ts'
import { paging, parseSearch, readSearch, stringifySearch } from './search/search-params.ts'
import { subAccountList } from './sub-accounts/sub-account-search.ts'
import { readTokenSearch, tokenOrder } from './tokens/token-filters.ts'
import { verifierList } from './verifiers/verifier-search.ts'
import { webhookList } from './webhooks/webhook-search.ts'

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound })
const overview = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: OverviewView,
})
const tokens = createRoute({
  getParentRoute: () => root,
  path: '/tokens',
  component: lazyRouteComponent(loadTokens, 'TokensView'),
  validateSearch: readTokenSearch,
})
const token = createRoute({
  getParentRoute: () => root,
  path: '/tokens/$tokenId',
  component: lazyRouteComponent(loadLater, 'TokenView'),
})
const subAccounts = createRoute({
  getParentRoute: () => root,
  path: '/sub-accounts',
  component: lazyRouteComponent(loadLater, 'SubAccountsView'),
  validateSearch: subAccountList.read,
})
/** Its search is the order of its tokens. */
const subAccount = createRoute({
  getParentRoute: () => root,
  path: '/sub-accounts/$subAccountId',
  component: lazyRouteComponent(loadLater, 'SubAccountView'),
  validateSearch: (raw: Record<string, unknown>) => readSearch({ sort: tokenOrder }, raw),
})
const history = createRoute({
  getParentRoute: () => root,
  path: '/history',
  component: lazyRouteComponent(loadLater, 'HistoryView'),
  validateSearch: historyList.read,
})

const keys = createRoute({
  getParentRoute: () => root,
  path: '/keys',
  component: lazyRouteComponent(loadLater, 'KeysView'),
  validateSearch: keyList.read,
})

const people = createRoute({
  getParentRoute: () => root,
  path: '/people',
  component: lazyRouteComponent(loadLater, 'PeopleView'),
  validateSearch: peopleList.read,
})

const verifiers = createRoute({
  getParentRoute: () => root,
  path: '/verifiers',
  component: lazyRouteComponent(loadLater, 'VerifiersView'),
  validateSearch: verifierList.read,
})

const operations = createRoute({
  getParentRoute: () => root,
  path: '/history/operations',
  component: lazyRouteComponent(loadLater, 'OperationsView'),
  validateSearch: operationList.read,
})

const operation = createRoute({
  getParentRoute: () => root,
  path: '/history/operations/$operationId',
  component: lazyRouteComponent(loadLater, 'OperationView'),
})

const leaks = createRoute({
  getParentRoute: () => root,
  path: '/leaks',
  component: lazyRouteComponent(loadLater, 'LeakView'),
})

const webhooks = createRoute({
  getParentRoute: () => root,
  path: '/webhooks',
  component: lazyRouteComponent(loadLater, 'WebhooksView'),
  validateSearch: webhookList.read,
})

/** Its search is the page of its deliveries. */
const webhook = createRoute({
  getParentRoute: () => root,
  path: '/webhooks/$webhookId',
  component: lazyRouteComponent(loadLater, 'WebhookView'),
  validateSearch: (raw: Record<string, unknown>) => readSearch(paging, raw),
})

const routeTree = root.addChildren([
  overview,
  tokens,
  token,
  subAccounts,
  subAccount,
  history,
  operations,
  operation,
  leaks,
  keys,
  people,
  verifiers,
  webhooks,
  webhook,
])

/** Called once the key is out of the address, so that the router never sees it. */
export function createConsoleRouter() {
  return createRouter({
    routeTree,
    basepath: '/console',
    parseSearch,
    stringifySearch,
    // Parameters that the view does not know leave the address.
    search: { strict: true },
    defaultErrorComponent: ViewError,
    defaultPreload: 'intent',
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
