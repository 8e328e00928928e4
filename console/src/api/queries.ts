// Everything the console reads: one entry per question, with its cache key. A change names the keys it makes out of date.
import {
  keepPreviousData,
  type QueryClient,
  type QueryFilters,
  type QueryState,
  queryOptions,
} from '@tanstack/react-query'
import type {
  BulkFilter,
  BulkOperation,
  BulkPage,
  BulkPreview,
  Call,
  LatchkeyClient,
  Token,
  TokenPage,
  Usage,
  Webhook,
  WebhookPage,
} from '../../../client/latchkey-client.ts'
import { masked } from '../ui/format.ts'
import { clientOf } from './connect.ts'
import { isNotFound, retryAfterMs } from './errors.ts'

/** No credential is held that is not shown: each read and each change asks for masked ones. */
export const MASKED = { credentials: 'masked' } as const

type Params<Name extends keyof LatchkeyClient> = NonNullable<Parameters<LatchkeyClient[Name]>[0]>

export type TokenListParams = Params<'listTokens'>
/** `tokenId` is in the path, and the token's sub-account needs no filter then. */
export type HistoryParams = Params<'listAccountHistory'> & { readonly tokenId?: string | undefined }
/** Whose use. */
export type UsageOf = { readonly tokenId: string } | { readonly subAccountId: string }
export type SubAccountListParams = Params<'listSubAccounts'>

const TOKENS = ['tokens'] as const
const SUB_ACCOUNTS = ['sub-accounts'] as const
const OVERVIEW = ['overview'] as const
const KEYS = ['keys'] as const
const SESSIONS = ['sessions'] as const
const PORTAL_SESSIONS = ['portal-sessions'] as const
const GRANTS = ['grants'] as const
const VERIFIERS = ['verifiers'] as const
export const WEBHOOKS = ['webhooks'] as const
export const DELIVERIES = ['deliveries'] as const
const USAGE = ['usage'] as const
const BULK = ['bulk'] as const
export const HISTORY = ['history'] as const
export const WHOAMI = ['whoami'] as const

/** What a call answers with its ETag, which is in none of the fields. */
export async function withETag<Data extends object>(call: Call<Data>): Promise<Data & { etag: string | undefined }> {
  const { data, etag } = await call.withResponse()
  return { ...data, etag }
}

const SOON_MS = 2_000
/** No event announces a verification: what is used and when is asked again as long as it is shown. */
const USED_AGAIN_MS = 60_000
/** Most operations are done within a second. */
const STEP_MS = 1_000

/**
 * Neither a delivery nor a step of a bulk operation is an entry of the history, so no event announces it: while some are to come, the
 * service is asked again.
 */
const askedAgainWhile =
  <Data>(isToCome: (data: Data) => boolean, everyMs = SOON_MS) =>
  ({ state: { data, status, error } }: { readonly state: QueryState<Data> }): number | false => {
    if (status === 'error') return retryAfterMs(error)
    return data !== undefined && isToCome(data) && everyMs
  }

const isRunning = ({ status }: BulkOperation): boolean => status === 'running'
const isBehind = ({ status, behind }: Webhook): boolean => status === 'active' && behind > 0

export const queries = {
  overview: (client: LatchkeyClient) =>
    queryOptions({ queryKey: OVERVIEW, queryFn: ({ signal }) => client.getOverview({}, { signal }) }),

  /** The account that is signed in, and what the caller may do. */
  whoami: (client: LatchkeyClient) =>
    queryOptions({
      queryKey: WHOAMI,
      queryFn: ({ signal }) => client.whoami({}, { signal }),
      // Neither changes often, and a key that is refused is noticed by every other request.
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
    }),

  /** Whose a key is that nobody is signed in with yet. */
  ownerOfKey: (key: string) =>
    queryOptions({
      queryKey: ['owner-of-key', key],
      queryFn: ({ signal }) => clientOf(key).whoami({}, { signal }),
      gcTime: 0,
    }),

  /** `params` is a function where it depends on the time of the request, and is then no part of the key. */
  tokens: (client: LatchkeyClient, search: object, params: () => TokenListParams) =>
    queryOptions({
      queryKey: [...TOKENS, 'list', search],
      queryFn: ({ signal }) => client.listTokens({ ...params(), include: 'details', ...MASKED }, { signal }),
      placeholderData: keepPreviousData,
    }),

  token: (client: LatchkeyClient, id: string) =>
    queryOptions({
      queryKey: [...TOKENS, 'one', id],
      queryFn: ({ signal }) => client.getToken({ id, include: 'details', ...MASKED }, { signal }),
    }),

  /** A page with the one token or with none, since the list itself is searched by name only. */
  tokenPageById: (client: LatchkeyClient, id: string, limit: number) =>
    queryOptions({
      queryKey: [...TOKENS, 'list', { id, limit } as object],
      queryFn: async ({ signal }): Promise<TokenPage> => {
        try {
          return pageOf([await client.getToken({ id, include: 'details', ...MASKED }, { signal })], limit)
        } catch (error) {
          if (isNotFound(error)) return pageOf([], limit)
          throw error
        }
      },
      placeholderData: keepPreviousData,
    }),

  /**
   * The token of a pasted credential. The credential is in the body of the request and in no key of the cache. The service says nothing of
   * one that does not authenticate now: such a token is found by the end of its credential.
   */
  pasted: (client: LatchkeyClient, { secret, end, turn }: { secret?: string; end: string; turn: number }) =>
    queryOptions({
      queryKey: [...TOKENS, 'pasted', end, turn],
      queryFn: async ({ signal }): Promise<{ isExact: boolean; page: TokenPage }> => {
        const id = secret && (await client.introspect({ body: { token: secret } }, { signal })).token_id
        if (id) {
          const found = await client.getToken({ id, include: 'details', ...MASKED }, { signal })
          return { isExact: true, page: pageOf([found], 1) }
        }
        const page = await client.listTokens({ credentialEnd: end, include: 'details', ...MASKED }, { signal })
        return { isExact: false, page }
      },
      gcTime: 0,
    }),

  /** What verification would answer for a token. Each `turn` is a new request. */
  explanation: (
    client: LatchkeyClient,
    id: string,
    asked: { readonly scopes: readonly string[]; readonly address: string; readonly turn?: number },
  ) =>
    queryOptions({
      queryKey: [...TOKENS, 'explanation', id, asked],
      queryFn: ({ signal }) => {
        const scope = asked.scopes.length === 0 ? undefined : [asked.scopes.join(' ')]
        return client.explainToken({ id, scope, address: asked.address || undefined }, { signal })
      },
      gcTime: 0,
    }),

  /** How many tokens a filter of the list matches, and some of them: a dry run of a bulk operation. */
  bulkPreview: (client: LatchkeyClient, filter: BulkFilter) =>
    queryOptions({
      queryKey: [...TOKENS, 'bulk-preview', filter],
      queryFn: async ({ signal }) => {
        const body = { action: 'disable', filter, dryRun: true } as const
        return (await client.changeTokens({ body }, { signal })) as BulkPreview
      },
      gcTime: 0,
    }),

  bulkOperations: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...BULK, 'list', page, limit],
      queryFn: ({ signal }) => client.listBulk({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
      refetchInterval: askedAgainWhile(({ items }: BulkPage) => items.some(isRunning), STEP_MS),
    }),

  bulkOperation: (client: LatchkeyClient, id: string) =>
    queryOptions({
      queryKey: [...BULK, 'one', id],
      queryFn: ({ signal }) => client.getBulk({ id }, { signal }),
      refetchInterval: askedAgainWhile(isRunning, STEP_MS),
    }),

  usage: (client: LatchkeyClient, of: UsageOf, per: Usage['per']) =>
    queryOptions({
      queryKey: [...USAGE, of, per],
      queryFn: ({ signal }) =>
        'tokenId' in of
          ? client.getTokenUsage({ id: of.tokenId, per }, { signal })
          : client.getUsage({ ...of, per }, { signal }),
      placeholderData: keepPreviousData,
      refetchInterval: USED_AGAIN_MS,
    }),

  recentVerifications: (client: LatchkeyClient, tokenId: string) =>
    queryOptions({
      queryKey: [...USAGE, { tokenId }, 'recent'],
      queryFn: ({ signal }) => client.getTokenRecent({ id: tokenId }, { signal }),
      refetchInterval: USED_AGAIN_MS,
    }),

  history: (client: LatchkeyClient, params: HistoryParams) =>
    queryOptions({
      queryKey: [...HISTORY, params],
      queryFn: ({ signal }) => {
        const { tokenId, subAccountId, ...others } = params
        if (tokenId !== undefined)
          return client.listTokenHistory({ id: tokenId, include: 'subAccount', ...others }, { signal })
        return client.listAccountHistory({ subAccountId, ...others }, { signal })
      },
      placeholderData: keepPreviousData,
    }),

  subAccounts: (client: LatchkeyClient, params: SubAccountListParams) =>
    queryOptions({
      queryKey: [...SUB_ACCOUNTS, 'list', params],
      queryFn: ({ signal }) => client.listSubAccounts(params, { signal }),
      placeholderData: keepPreviousData,
    }),

  subAccount: (client: LatchkeyClient, id: string) =>
    queryOptions({
      queryKey: [...SUB_ACCOUNTS, 'one', id],
      queryFn: ({ signal }) => withETag(client.getSubAccount({ id }, { signal })),
    }),

  keys: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...KEYS, 'list', page, limit],
      queryFn: ({ signal }) => client.listKeys({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
    }),

  sessions: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...SESSIONS, 'list', page, limit],
      queryFn: ({ signal }) => client.listSessions({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
    }),

  portalSessions: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...PORTAL_SESSIONS, 'list', page, limit],
      queryFn: ({ signal }) => client.listPortalSessions({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
    }),

  grants: (client: LatchkeyClient) =>
    queryOptions({ queryKey: GRANTS, queryFn: ({ signal }) => client.listGrants({}, { signal }) }),

  /** Asked again and again: a lease is renewed every few seconds, or runs out. */
  verifiers: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...VERIFIERS, 'list', page, limit],
      queryFn: ({ signal }) => client.listVerifiers({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
      refetchInterval: 5_000,
    }),

  webhooks: (client: LatchkeyClient, page: number, limit: number) =>
    queryOptions({
      queryKey: [...WEBHOOKS, 'list', page, limit],
      queryFn: ({ signal }) => client.listWebhooks({ page, limit }, { signal }),
      placeholderData: keepPreviousData,
      refetchInterval: askedAgainWhile(({ items }: WebhookPage) => items.some(isBehind)),
    }),

  webhook: (client: LatchkeyClient, id: string) =>
    queryOptions({
      queryKey: [...WEBHOOKS, 'one', id],
      queryFn: ({ signal }) => client.getWebhook({ id }, { signal }),
      refetchInterval: askedAgainWhile(isBehind),
    }),

  deliveries: (client: LatchkeyClient, id: string, page: number, limit: number) =>
    queryOptions({
      queryKey: [...DELIVERIES, 'list', id, page, limit],
      queryFn: async ({ signal }) => {
        // First: what it has got by then is in the list.
        const webhook = await client.getWebhook({ id }, { signal })
        return { ...(await client.listDeliveries({ id, page, limit }, { signal })), isBehind: isBehind(webhook) }
      },
      placeholderData: keepPreviousData,
      refetchInterval: askedAgainWhile((read: { readonly isBehind: boolean }) => read.isBehind),
    }),
}

/** For a change that is made only if the token is still as it was read. */
export const etagOf = ({ details }: Token): string | undefined => details && `"${details.version}"`

function pageOf(items: readonly Token[], limit: number): TokenPage {
  const total = items.length
  return { items, total, page: 1, limit, totalPages: total, hasNextPage: false, hasPrevPage: false }
}

const KEY_OF = {
  token: TOKENS,
  'sub-account': SUB_ACCOUNTS,
  key: KEYS,
  session: SESSIONS,
  'portal-session': PORTAL_SESSIONS,
  verifier: VERIFIERS,
  webhook: WEBHOOKS,
  delivery: DELIVERIES,
  bulk: BULK,
} as const
export type Kind = keyof typeof KEY_OF

/** Sub-accounts and the overview count tokens; a token shows its sub-account. */
export const OUTDATED_BY = {
  token: [TOKENS, SUB_ACCOUNTS, OVERVIEW, HISTORY],
  'sub-account': [SUB_ACCOUNTS, TOKENS, OVERVIEW, PORTAL_SESSIONS, HISTORY],
  key: [KEYS, PORTAL_SESSIONS, HISTORY],
  session: [SESSIONS, PORTAL_SESSIONS, HISTORY],
  'portal-session': [PORTAL_SESSIONS, HISTORY],
  verifier: [VERIFIERS],
  webhook: [WEBHOOKS, DELIVERIES, HISTORY],
  delivery: [DELIVERIES, WEBHOOKS, HISTORY],
  bulk: [BULK, HISTORY],
} as const

/**
 * What is on screen is read again, also where it is being read: the answer may be from before the change. TanStack Query restarts every
 * read but the first one, which is cancelled here.
 */
export function outdate(cache: QueryClient, which: QueryFilters): void {
  for (const query of cache.getQueryCache().findAll({ ...which, fetchStatus: 'fetching' })) {
    if (query.state.data === undefined) void query.cancel({ silent: true })
  }
  void cache.invalidateQueries(which)
}

/** Not awaited by anyone: a list that hangs must not hold up the outcome of a change. */
export function invalidate(cache: QueryClient, kind: Kind): void {
  for (const queryKey of OUTDATED_BY[kind]) outdate(cache, { queryKey })
}

export interface Identified {
  readonly _id: string
}

/** An answer that shows a new credential or key is for the dialog that asked; what is kept has its masked form, or none. */
function withoutSecrets(item: Identified & Partial<Record<'token' | 'key' | 'secret', unknown>>): Identified {
  const { key: _, secret: __, ...rest } = item
  return typeof rest.token === 'string' ? Object.assign(rest, { token: masked(rest.token) }) : rest
}

/** Puts what the service has confirmed into everything that shows it, before that is fetched again. */
export function updateCached(cache: QueryClient, kind: Kind, confirmed: readonly Identified[]): void {
  const byId = new Map(confirmed.map((each) => [each._id, withoutSecrets(each)]))
  const update = <Item extends Identified>(item: Item): Item =>
    byId.has(item._id) ? { ...item, ...byId.get(item._id) } : item
  cache.setQueriesData<{ readonly items: readonly Identified[] }>(
    { queryKey: [...KEY_OF[kind], 'list'] },
    (page) => page && { ...page, items: page.items.map(update) },
  )
  cache.setQueriesData<Identified>({ queryKey: [...KEY_OF[kind], 'one'] }, (item) => item && update(item))
}
