// The tables that all capabilities stand on, each once: its fields and their types, which of them are stamped, and which ones the
// history shows when they change. Record types, column lists, row mapping, copying, stamps and history differences of both engines
// come from here and from the tables of the capabilities; upkeep/stored.ts names all of them.
import { bytes, type Field, json, number, optionalJson, optionalNumber, optionalText, table, text } from './table.ts'

export const STATUSES = ['active', 'inactive'] as const
export type Status = (typeof STATUSES)[number]

/** Times are milliseconds since 1970, UTC. */
export type Timestamp = number

export const optionalTime: Field<Timestamp | null> = optionalNumber

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
export const SPENT_SIGN_INS = table({
  name: 'spentSignIns',
  key: ['digest'],
  fields: { digest: bytes, spentAt: number },
})

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
