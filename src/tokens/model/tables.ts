// Every stored table, once: its fields and their types, which of them are stamped, and which ones the history shows when they
// change. Record types, column lists, row mapping, copying, stamps and history differences of both engines come from here.

import {
  bytes,
  type Field,
  json,
  number,
  optionalBytes,
  optionalJson,
  optionalNumber,
  optionalText,
  type Table,
  table,
  text,
} from './table.ts'

export const STATUSES = ['active', 'inactive'] as const
export type Status = (typeof STATUSES)[number]

/** Times are milliseconds since 1970, UTC. */
export type Timestamp = number

const optionalTime: Field<Timestamp | null> = optionalNumber

export const ACCOUNTS = table({
  name: 'accounts',
  key: ['id'],
  fields: {
    id: text,
    name: text,
    createdAt: number,
    /** `once`: a credential is shown when it is made, and only its digest is stored; null: it can be shown again. */
    credentials: optionalText as Field<'once' | null>,
  },
  history: ['name', 'credentials'],
  added: ['credentials'],
})

export const ACCOUNT_KEYS = table({
  name: 'accountKeys',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    name: text,
    digest: bytes,
    createdAt: number,
    expiresAt: optionalTime,
    revokedAt: optionalTime,
    /** To the minute. */
    lastUsedAt: optionalTime,
    /** See permissions.ts. */
    permissions: optionalJson,
  },
  stamp: { kind: 'key', fields: ['id', 'accountId', 'expiresAt', 'revokedAt', 'digest', 'permissions'] },
  history: ['revokedAt', 'permissions'],
  added: ['lastUsedAt', 'permissions'],
})

/** People who are signed in to the console; see sessions.ts. */
export const SESSIONS = table({
  name: 'sessions',
  key: ['id'],
  fields: {
    id: text,
    /** Of the cookie. */
    digest: bytes,
    /** The account that the person works in; null until it is chosen. */
    accountId: optionalText,
    /** As the identity provider names the person. */
    subject: text,
    email: optionalText,
    /** What the identity provider says of the person; grants are matched with it at each request. */
    claims: json,
    createdAt: number,
    /** Of a request, to the minute. */
    seenAt: number,
    /** Where the person signed in from, for people: these two decide nothing. */
    address: optionalText,
    userAgent: optionalText,
  },
  stamp: {
    kind: 'session',
    fields: ['id', 'digest', 'accountId', 'subject', 'email', 'claims', 'createdAt', 'seenAt'],
  },
  added: ['address', 'userAgent'],
})

/** Sessions of the portal; see portal.ts. */
export const PORTAL_SESSIONS = table({
  name: 'portalSessions',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    subAccountId: text,
    /** An array of what it is for. */
    may: json,
    /** The only one from which browsers may use it; null for the service's own. */
    origin: optionalText,
    /** The id of the account key or of the session of the person that has made it, and that it does not outlive; null for a JWT. */
    maker: optionalText,
    /** Who has made it, as in the history. */
    by: text,
    byName: optionalText,
    createdAt: number,
    expiresAt: number,
    /** Since when somebody has ended it. */
    endedAt: optionalTime,
  },
  stamp: {
    kind: 'portal',
    fields: ['id', 'accountId', 'subAccountId', 'may', 'origin', 'maker', 'createdAt', 'expiresAt', 'endedAt'],
  },
})

/** Processes that verify by themselves, each with its lease; see lease.ts. */
export const VERIFIERS = table({
  name: 'verifiers',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    keyId: text,
    name: optionalText,
    /** Of its software. */
    version: optionalText,
    /** `evicted`: gets no further lease. `gone`: and the last one has run out. */
    state: text as Field<'held' | 'evicted' | 'gone'>,
    since: number,
    /** Of its last call, for people: leases are measured by monotonic clocks. */
    confirmedAt: number,
    /** Counts its calls. */
    renewal: number,
    termMs: number,
    /** The position up to which it has forgotten what was changed. */
    acked: text,
  },
})

/** What counts once: sign-ins that were completed, whether anybody got in or not, and codes of the portal. */
const SPENT_SIGN_INS = table({ name: 'spentSignIns', key: ['digest'], fields: { digest: bytes, spentAt: number } })

export const SUB_ACCOUNTS = table({
  name: 'subAccounts',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    name: text,
    email: text,
    companyName: text,
    createdAt: number,
    suspendedAt: optionalTime,
    /** What all its tokens together may do; see policy.ts. */
    policy: optionalJson,
    metadata: optionalJson,
  },
  stamp: { kind: 'sub-account', fields: ['id', 'accountId', 'suspendedAt', 'policy'] },
  history: ['name', 'email', 'companyName', 'suspendedAt', 'policy', 'metadata'],
  added: ['policy', 'metadata'],
})

export const TOKENS = table({
  name: 'tokens',
  key: ['accountId', 'id'],
  fields: {
    id: text,
    accountId: text,
    subAccountId: text,
    name: text,
    status: text as Field<Status>,
    createdAt: number,
    expiresAt: optionalTime,
    /** Counts the changes; 1 when new. */
    version: number,
    /** Of the credential; for look-up. */
    digest: bytes,
    /** The credential, encrypted. */
    sealed: bytes,
    /** The credential as shown to callers who may not see it; null for tokens created before this was stored. */
    masked: optionalText,
    metadata: optionalJson,
    /** An array of strings; null for none. */
    tags: optionalJson,
    /** What it may do, under its sub-account's policy; see policy.ts. */
    policy: optionalJson,
  },
  stamp: {
    kind: 'token',
    fields: ['id', 'accountId', 'subAccountId', 'status', 'expiresAt', 'version', 'digest', 'policy'],
  },
  history: ['name', 'status', 'expiresAt', 'metadata', 'tags', 'policy'],
  added: ['masked', 'metadata', 'tags', 'policy'],
})

/** Credentials that were rotated out and still work for a while. */
export const RETIRED_CREDENTIALS = table({
  name: 'retiredCredentials',
  key: ['digest'],
  fields: {
    digest: bytes,
    tokenId: text,
    retiresAt: number,
  },
  stamp: { kind: 'retired', fields: ['digest', 'tokenId', 'retiresAt'] },
})

/** `stamp` links each row to the one before it; see record/history.ts. */
export const HISTORY = table({
  name: 'history',
  key: ['accountId', 'seq'],
  fields: {
    accountId: text,
    seq: number,
    at: number,
    by: text,
    byName: optionalText,
    action: text,
    subject: text,
    subjectName: optionalText,
    tokenId: optionalText,
    /** JSON, as `toFacts` is. */
    fromFacts: text,
    toFacts: text,
    requestId: optionalText,
    address: optionalText,
    stamp: bytes,
  },
})

export const HISTORY_HEADS = table({
  name: 'historyHeads',
  key: ['accountId'],
  fields: { accountId: text, seq: number, last: bytes, stamp: bytes },
})

/** The store secret, sealed with each master key that may open it. */
export const VAULT = table({
  name: 'vault',
  key: ['keyId'],
  fields: { keyId: text, sealedSecret: bytes, createdAt: number },
})

/** What is left of the rates and quotas in policies, by token or sub-account; `state` is that of limit.ts. */
export const LIMITS = table({
  name: 'limits',
  key: ['subject', 'kind'],
  fields: { subject: text, kind: text, state: text },
})

export const IDEMPOTENCY_KEYS = table({
  name: 'idempotencyKeys',
  key: ['accountId', 'by', 'key'],
  fields: {
    accountId: text,
    /** Whose key it is, as in the history. */
    by: text,
    key: text,
    /** Two stamps in hexadecimal digits: see `stampRequest` in idempotency.ts. */
    requestDigest: text,
    /** The id of what the request has made or changed. */
    subject: text,
    createdAt: number,
  },
})

/** Receivers of events; see webhook.ts. The stamp keeps events from being sent to an address that no caller has set. */
export const WEBHOOKS = table({
  name: 'webhooks',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    url: text,
    /** An array of names and patterns; null for all events. */
    events: optionalJson,
    ordering: text as Field<'strict' | 'none'>,
    status: text as Field<Status>,
    /** Why the service has switched it off. */
    disabledBecause: optionalText as Field<'gone' | 'failing' | null>,
    createdAt: number,
    /** The secret, encrypted, as the former one is, which signs too until `formerUntil`. */
    sealed: bytes,
    formerSealed: optionalBytes,
    formerUntil: optionalTime,
    /** The last row of the history that is dealt with: delivered, skipped, put aside, or not for this webhook. */
    position: number,
    lastSuccessAt: optionalTime,
  },
  stamp: { kind: 'webhook', fields: ['id', 'accountId', 'url', 'events', 'ordering', 'status'] },
})

/** What is known of the deliveries of the last events, and of all that wait for another attempt. */
export const WEBHOOK_DELIVERIES = table({
  name: 'webhookDeliveries',
  key: ['webhookId', 'seq'],
  fields: {
    webhookId: text,
    /** Of the row of the history. */
    seq: number,
    event: text,
    /** Of the last attempt. */
    at: number,
    attempts: number,
    status: text as Field<'waiting' | 'delivered' | 'skipped'>,
    responseStatus: optionalNumber,
    error: optionalText,
    /** Of the first attempt that failed, while it waits. */
    firstAt: optionalTime,
    /** Of the next attempt, while it waits. */
    nextAt: optionalTime,
  },
})

/**
 * Changes of all tokens that a filter matches; see bulk.ts. Tokens are changed as these rows say: the stamp keeps anybody who can write
 * to the database from having a token enabled by one.
 */
export const BULK_OPERATIONS = table({
  name: 'bulkOperations',
  key: ['id'],
  fields: {
    id: text,
    accountId: text,
    action: text as Field<'disable' | 'enable' | 'delete' | 'expire'>,
    /** As it was sent. Its times count from `createdAt`. */
    filter: json,
    /** The only sub-accounts that the caller saw, sorted; null for all of the account. */
    scope: optionalJson,
    reason: optionalText,
    createdAt: number,
    by: text,
    byName: optionalText,
    /** By whom, and by which authority, what is done now was ordered: the operation, or its undoing. */
    ordered: json,
    status: text as Field<'running' | 'done' | 'undone' | 'failed'>,
    direction: text as Field<'do' | 'undo'>,
    total: number,
    parts: number,
    /** How many parts are done and not undone: it goes up, or down again. */
    position: number,
    done: number,
    skipped: number,
    restored: number,
    /** Changed tokens that are not restored: they were changed since. */
    kept: number,
    endedAt: optionalTime,
    /** Why it has failed. */
    error: optionalText as Field<'revoked' | 'altered' | 'restored' | null>,
  },
  stamp: {
    kind: 'bulk',
    fields: [
      ...(['id', 'accountId', 'action', 'filter', 'scope', 'reason', 'createdAt', 'by', 'byName', 'ordered'] as const),
      ...([
        'status',
        'direction',
        'total',
        'parts',
        'position',
        'done',
        'skipped',
        'restored',
        'kept',
        'endedAt',
      ] as const),
    ],
  },
})

/** Some of the tokens that an operation is about, which are changed in one transaction. */
export const BULK_PARTS = table({
  name: 'bulkParts',
  key: ['operationId', 'number'],
  fields: {
    operationId: text,
    number: number,
    accountId: text,
    createdAt: number,
    /** An array of arrays: the id of each, and its version when the operation was accepted. */
    tokens: json,
    /** What was changed: the id of each, its version then, and what it had before. Null until it was this part's turn. */
    changes: optionalJson,
  },
  stamp: { kind: 'bulk-part', fields: ['operationId', 'number', 'accountId', 'createdAt', 'tokens', 'changes'] },
})

/** The columns of a row that has several counts, such as h0 to h23; null for none. */
const counts = (letter: string, first: number, last: number): Readonly<Record<string, Field<number | null>>> =>
  Object.fromEntries(Array.from({ length: last - first + 1 }, (_, n) => [`${letter}${first + n}`, optionalNumber]))

/**
 * What was verified of a token, and the sums of a sub-account or an account: see usage.ts. By day first, so that what is written and
 * what is removed stands together.
 */
export const USAGE_HOURS = table({
  name: 'usageHours',
  key: ['day', 'subject', 'verdict'],
  fields: { day: number, subject: text, verdict: number, ...counts('h', 0, 23) },
})

/** The same of days whose hours are no longer kept. */
export const USAGE_DAYS = table({
  name: 'usageDays',
  key: ['month', 'subject', 'verdict'],
  fields: { month: number, subject: text, verdict: number, ...counts('d', 1, 31) },
})

/** Candidates for the busiest tokens of a sub-account or an account; `tokens` is that of `mergeBusiest`. */
const USAGE_BUSIEST = table({
  name: 'usageBusiest',
  key: ['day', 'subject'],
  fields: { day: number, subject: text, tokens: json },
})

/** The reports of the last hour that were added: none is added twice. */
const USAGE_REPORTS = table({
  name: 'usageReports',
  key: ['source', 'number'],
  fields: { source: text, number, at: number },
})

/** The last verifications of a token, as recent-verifications.ts keeps them, and the day of the newest. */
export const RECENT_VERIFICATIONS = table({
  name: 'recentVerifications',
  key: ['tokenId'],
  fields: { tokenId: text, day: number, verifications: json },
})

/** In an order in which every row comes after the rows that it refers to. Counts and search indexes are made from these. */
export const STORED: readonly Table[] = [
  VAULT,
  table({ name: 'retiredMasterKeys', key: ['keyId'], fields: { keyId: text, retiredAt: number } }),
  ACCOUNTS,
  ACCOUNT_KEYS,
  SESSIONS,
  SPENT_SIGN_INS,
  PORTAL_SESSIONS,
  VERIFIERS,
  SUB_ACCOUNTS,
  TOKENS,
  RETIRED_CREDENTIALS,
  table({ name: 'lastUsed', key: ['tokenId'], fields: { tokenId: text, at: number } }),
  USAGE_HOURS,
  USAGE_DAYS,
  USAGE_BUSIEST,
  USAGE_REPORTS,
  RECENT_VERIFICATIONS,
  LIMITS,
  IDEMPOTENCY_KEYS,
  WEBHOOKS,
  WEBHOOK_DELIVERIES,
  BULK_OPERATIONS,
  BULK_PARTS,
  HISTORY,
  HISTORY_HEADS,
]
