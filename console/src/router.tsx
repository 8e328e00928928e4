// Every address of the console, with the view it shows and the search parameters that view understands.
import { createRootRouteWithContext, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { type Asking, askFirst } from './api/first-questions.ts'
import { Frame } from './app/frame.tsx'
import { NotFound } from './app/not-found.tsx'
import { ViewError } from './app/view-error.tsx'
import { historyList } from './history/history-filters.ts'
import { loadLater, loadTokens } from './load.ts'
import { OverviewView } from './overview/overview-view.tsx'
import { keyList, operationList, peopleList, verifierList, webhookList } from './search/plain-lists.ts'
import { paging, parseSearch, readSearch, stringifySearch } from './search/search-params.ts'
import { subAccountList } from './sub-accounts/sub-account-search.ts'
import { readTokenSearch, tokenOrder } from './tokens/token-filters.ts'

interface Arriving {
  readonly context: Asking
  readonly cause: 'preload' | 'enter' | 'stay'
}

/** While the code of its view is on the way; not when a pointer is on a link to it. */
const first = (path: Parameters<typeof askFirst>[1], id: string, { context, cause }: Arriving): void => {
  if (cause === 'enter') askFirst(context, path, id)
}

const root = createRootRouteWithContext<Asking>()({ component: Frame, notFoundComponent: NotFound })
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
  loader: ({ params, ...at }) => first('/tokens/$id', params.tokenId, at),
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
  loader: ({ params, ...at }) => first('/sub-accounts/$id', params.subAccountId, at),
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
  loader: ({ params, ...at }) => first('/history/operations/$id', params.operationId, at),
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
  loader: ({ params, ...at }) => first('/webhooks/$id', params.webhookId, at),
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
    // That is of the code alone: the data is asked for when somebody comes.
    defaultPreloadStaleTime: 0,
    // With what `RouterProvider` is given.
    context: {} as Asking,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>
  }
}
