// Made from /openapi.json by scripts/generate-client.ts: change the routes, then run `npm run generate-client`.

export interface SubAccountSummary {
  /** Sub-account identifier */
  readonly _id: string
  /** What people call it */
  readonly name: string
  /** How its contact person is reached */
  readonly email: string
  /** The company behind the sub-account */
  readonly companyName: string
}

export interface Rate {
  /** How many verifications */
  readonly limit: number
  /** Within how many seconds it refills */
  readonly seconds: number
}

export interface Quota {
  /** How many verifications */
  readonly limit: number
  /** A day or a month of UTC, or all time */
  readonly per: 'day' | 'month' | 'ever'
}

/** In reads with `include=details`, and in every answer to PATCH */
export interface TokenDetails {
  /** When the token itself expires; null for never. Its sub-account can end it sooner: see `effectiveStatus` */
  readonly expiresAt: string | null
  /** Last accepted verification, to the minute; null for never */
  readonly lastUsedAt: string | null
  /** Accepted verifications, written every 4 seconds; with the hour or the day that has begun */
  readonly usage: {
    /** In the last 24 hours */
    readonly day: number
    /** In the last 7 days */
    readonly week: number
    /** In the last 30 days */
    readonly month: number
  }
  /** Counts the changes; also the ETag */
  readonly version: number
  /** Until when a credential that was rotated out still works */
  readonly formerCredentialUntil: string | null
  /** When such a credential was last used, to the minute; null for never */
  readonly formerCredentialLastUsedAt: string | null
  /** The address that it was used from then */
  readonly formerCredentialLastUsedFrom: string | null
  /** What verification would say now */
  readonly effectiveStatus: 'active' | 'inactive' | 'expired' | 'suspended'
  /** What keeps it from authenticating */
  readonly blockedBy: 'token' | 'expiry' | 'sub-account' | null
  /** The stored credential was altered or damaged, and `token` is empty; rotating gives it a new one */
  readonly credentialUnreadable: boolean
  /** A JSON object of your own, opaque to the service; null for none */
  readonly metadata: Readonly<Record<string, unknown>> | null
  /** Words of your own; lists can be filtered by them */
  readonly tags: readonly string[]
  /** What is absent is not restricted. The policy of the sub-account holds too; null for none */
  readonly policy: {
    /** What it may do; `items:*` stands for all that begins with `items:` */
    readonly scopes?: readonly string[] | undefined
    /** From where: CIDR blocks or single addresses */
    readonly addresses?: readonly string[] | undefined
    readonly rate?: Rate | undefined
    readonly quota?: Quota | undefined
  } | null
}

export interface Token {
  /** Token identifier */
  readonly _id: string
  /** Unique within its sub-account */
  readonly name: string
  /**
   * The credential: keep it out of logs. Masked with `credentials=masked`, and for callers without the right to
   * see it
   */
  readonly token: string
  /** Only an active token authenticates */
  readonly status: 'active' | 'inactive'
  /** Time of creation */
  readonly createdAt: string
  readonly subAccount: SubAccountSummary
  readonly details?: TokenDetails | undefined
}

export interface TokenPage {
  readonly items: readonly Token[]
  /** All matches on all pages, exactly */
  readonly total: number
  /** The number of this page, from 1 */
  readonly page: number
  /** How many items a page can hold */
  readonly limit: number
  /** 0 where nothing matches */
  readonly totalPages: number
  readonly hasNextPage: boolean
  readonly hasPrevPage: boolean
}

export interface ListTokensParams {
  /** Only tokens of this sub-account */
  readonly subAccountId?: string | undefined
  /** Only tokens with this status */
  readonly status?: 'active' | 'inactive' | undefined
  /** Part of the name, in any letter case */
  readonly search?: string | undefined
  /** From 1; 1 unless set */
  readonly page?: number | undefined
  /** Items per page, at most 100; 10 unless set */
  readonly limit?: number | undefined
  /**
   * The order; with a minus in front, descending. Names in any letter case; equal values by id. Tokens that were
   * never used, or never expire, come last in both directions. By lastUsedAt at most 100000 tokens can match. Not
   * for CSV, which has the newest first
   */
  readonly sort?:
    | 'name'
    | '-name'
    | 'createdAt'
    | '-createdAt'
    | 'lastUsedAt'
    | '-lastUsedAt'
    | 'expiresAt'
    | '-expiresAt'
    | undefined
  /** Only tokens with this tag; repeated: with all of them */
  readonly tag?: readonly string[] | undefined
  /** Only tokens whose credential ends with these four characters, as they are written */
  readonly credentialEnd?: string | undefined
  /** Only tokens never used */
  readonly used?: 'never' | undefined
  /** Only tokens made at least so many days ago, and not used since */
  readonly idleDays?: number | undefined
  /** Only tokens of sub-accounts that have been suspended for so many days */
  readonly suspendedDays?: number | undefined
  /** Only tokens made at this time or later */
  readonly createdFrom?: string | undefined
  /** Only tokens made before this time */
  readonly createdBefore?: string | undefined
  /** Only tokens that expire at this time or later */
  readonly expiresFrom?: string | undefined
  /** Only tokens that expire before this time */
  readonly expiresBefore?: string | undefined
  /** Only tokens of which verification would say this now; not together with `status` */
  readonly effectiveStatus?: 'active' | 'inactive' | 'expired' | 'suspended' | undefined
  /** Adds `details` to each token */
  readonly include?: 'details' | undefined
  /** Shows only the last four characters of each credential */
  readonly credentials?: 'masked' | undefined
}

/** What is absent is not restricted. The policy of the sub-account holds too */
export interface TokenPolicy {
  /** What it may do; `items:*` stands for all that begins with `items:` */
  readonly scopes?: readonly string[] | undefined
  /** From where: CIDR blocks or single addresses */
  readonly addresses?: readonly string[] | undefined
  readonly rate?: Rate | undefined
  readonly quota?: Quota | undefined
}

export interface NewToken {
  /** Who the token is for */
  readonly subAccountId: string
  /** Unique within its sub-account, at most 255 characters */
  readonly name: string
  /** `active` unless set */
  readonly status?: 'active' | 'inactive' | undefined
  /** When it stops authenticating, with a time zone; never if null or not sent */
  readonly expiresAt?: string | null | undefined
  /** At most 10 words of your own, which lists can be filtered by */
  readonly tags?: readonly string[] | null | undefined
  /** A JSON object of your own, at most 4096 bytes as stored */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** What the token, or every token of the sub-account, may do; a merge patch in PATCH */
  readonly policy?: TokenPolicy | null | undefined
}

export interface CreateTokenParams {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: NewToken
}

export interface ListTokensOfSubAccountParams
  extends Pick<
    ListTokensParams,
    | 'status'
    | 'search'
    | 'page'
    | 'limit'
    | 'sort'
    | 'tag'
    | 'credentialEnd'
    | 'used'
    | 'idleDays'
    | 'suspendedDays'
    | 'createdFrom'
    | 'createdBefore'
    | 'expiresFrom'
    | 'expiresBefore'
    | 'effectiveStatus'
    | 'include'
    | 'credentials'
  > {
  /** The sub-account id */
  readonly subAccountId: string
}

export interface GetTokenParams extends Pick<ListTokensParams, 'include' | 'credentials'> {
  /** The token id */
  readonly id: string
}

export interface TokenUpdate {
  /** Unique within its sub-account, at most 255 characters */
  readonly name?: string | undefined
  /** `inactive` disables the token at once without deleting it; `active` enables it again */
  readonly status?: 'active' | 'inactive' | undefined
}

export interface UpdateTokenParams extends Pick<GetTokenParams, 'credentials' | 'id'> {
  /** An ETag: go ahead only if the token is still at it */
  readonly 'if-match'?: string | undefined
  readonly body: TokenUpdate
}

export interface RatePatch {
  /** How many verifications */
  readonly limit?: number | undefined
  /** Within how many seconds it refills */
  readonly seconds?: number | undefined
}

export interface QuotaPatch {
  /** How many verifications */
  readonly limit?: number | undefined
  /** A day or a month of UTC, or all time */
  readonly per?: 'day' | 'month' | 'ever' | undefined
}

export interface TokenPolicyPatch {
  /** What it may do; `items:*` stands for all that begins with `items:` */
  readonly scopes?: readonly string[] | null | undefined
  /** From where: CIDR blocks or single addresses */
  readonly addresses?: readonly string[] | null | undefined
  readonly rate?: RatePatch | null | undefined
  readonly quota?: QuotaPatch | null | undefined
}

export interface TokenPatch extends Pick<NewToken, 'expiresAt' | 'tags' | 'metadata'> {
  /** Unique within its sub-account, at most 255 characters */
  readonly name?: string | undefined
  /** `inactive` disables the token at once without deleting it; `active` enables it again */
  readonly status?: 'active' | 'inactive' | undefined
  /** What the token, or every token of the sub-account, may do; a merge patch in PATCH */
  readonly policy?: TokenPolicyPatch | null | undefined
}

export interface PatchTokenParams extends Pick<UpdateTokenParams, 'credentials' | 'id' | 'if-match'> {
  readonly body: TokenPatch
}

export interface DeletedToken {
  /** The deleted token */
  readonly _id: string
}

export interface DeleteTokenParams extends Pick<UpdateTokenParams, 'id' | 'if-match'> {}

export interface TokenRotation {
  /** How long the former credential still works; 0 unless set */
  readonly overlapSeconds?: number | undefined
}

export interface RotateTokenParams extends Pick<UpdateTokenParams, 'id' | 'if-match'> {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body?: TokenRotation | undefined
}

export interface RevealTokenParams extends Pick<RotateTokenParams, 'id' | 'if-match' | 'idempotency-key'> {}

export interface Explanation {
  readonly accepted: boolean
  /** As X-Latchkey-Reason would say it */
  readonly reason: string | null
  /** Whose policy refuses it */
  readonly decidedBy: 'token' | 'sub-account' | null
  readonly effective: {
    /** Under both policies; null for every scope */
    readonly scopes: readonly string[] | null
    readonly rate: {
      /** How many verifications */
      readonly limit: number
      /** Within how many seconds it refills */
      readonly seconds: number
      /** What is left now */
      readonly left: number
      /** Whose policy has it; of two, the one with less left */
      readonly from: 'token' | 'sub-account'
    } | null
    readonly quota: {
      /** How many verifications */
      readonly limit: number
      /** A day or a month of UTC, or all time */
      readonly per: 'day' | 'month' | 'ever'
      /** What is left now */
      readonly left: number
      /** Whose policy has it; of two, the one with less left */
      readonly from: 'token' | 'sub-account'
    } | null
  }
}

export interface ExplainTokenParams {
  /** The scopes needed, separated by spaces; repeated: one of these sets is enough */
  readonly scope?: readonly string[] | undefined
  readonly address?: string | undefined
  /** The token id */
  readonly id: string
}

export interface BulkOperation {
  /** Operation identifier; in each row of the history, as `to.operation` */
  readonly _id: string
  /** What is done to each token */
  readonly action: 'disable' | 'enable' | 'delete' | 'expire'
  /** `done` and `undone`: every verifier has confirmed it, too */
  readonly status: 'running' | 'done' | 'undone' | 'failed'
  /** The tokens that the filter matched */
  readonly total: number
  /** How many of them were changed */
  readonly done: number
  /** How many were so already, were changed or deleted by others, or are not matched any more */
  readonly skipped: number
  /** As it was sent */
  readonly filter: Readonly<Record<string, unknown>>
  /** As it was sent */
  readonly reason: string | null
  /** When it was accepted */
  readonly createdAt: string
  /** When it was over */
  readonly endedAt: string | null
  /** Who has ordered it: the id of an account key, `operator`, or `jwt:` or `oidc:` and the subject */
  readonly by: string
  /** What the key was called, or the e-mail address of the person */
  readonly byName: string | null
  /** Null unless it is undone */
  readonly undo: {
    /** How many tokens have again what they had before */
    readonly restored: number
    /** How many were changed or deleted since, and stay so */
    readonly kept: number
  } | null
  /**
   * `revoked`: the key or session by which it was ordered has ended. `altered`: its row was changed in the
   * database. `restored`: the store was restored to an earlier state
   */
  readonly failedBecause: 'revoked' | 'altered' | 'restored' | null
}

export interface BulkToken extends Pick<Token, '_id' | 'name' | 'subAccount' | 'status'> {}

export interface BulkPreview {
  /** The tokens that the filter matches */
  readonly total: number
  /** The newest ten of them */
  readonly sample: readonly BulkToken[]
}

/** The parameters of the token list, or ids, without any that filters nothing; `{}` for all tokens */
export interface BulkFilter
  extends Pick<
    ListTokensParams,
    | 'subAccountId'
    | 'status'
    | 'search'
    | 'tag'
    | 'credentialEnd'
    | 'used'
    | 'idleDays'
    | 'suspendedDays'
    | 'createdFrom'
    | 'createdBefore'
    | 'expiresFrom'
    | 'expiresBefore'
    | 'effectiveStatus'
  > {
  /** Only these tokens */
  readonly ids?: readonly string[] | undefined
}

export interface BulkRequest {
  /** `expire` sets `expiresAt` to the time of the request, unless it is earlier */
  readonly action: 'disable' | 'enable' | 'delete' | 'expire'
  readonly filter: BulkFilter
  /** Count only, and change nothing */
  readonly dryRun?: boolean | undefined
  /** Go ahead only if the filter matches exactly so many tokens */
  readonly expectedTotal?: number | undefined
  /** In each row of the history, as `to.reason` */
  readonly reason?: string | undefined
}

export interface ChangeTokensParams {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: BulkRequest
}

export interface BulkPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly BulkOperation[]
}

export interface ListBulkParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface GetBulkParams {
  /** The operation id */
  readonly id: string
}

export interface UndoBulkParams {
  /** The operation id */
  readonly id: string
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
}

export interface HistoryEntry {
  /** Counts the account's entries; an opaque text for callers who see only some of them */
  readonly seq: number | string
  /** When */
  readonly at: string
  /** An account key id, `jwt:` or `oidc:` and a subject, `leak:` and who has reported it, or `operator` */
  readonly by: string
  /** The name of that account key then, or the e-mail address of the person */
  readonly byName: string | null
  /** What was done */
  readonly action:
    | 'account.create'
    | 'account.rename'
    | 'account.update'
    | 'key.create'
    | 'key.revoke'
    | 'session.sign-in'
    | 'session.choose'
    | 'session.sign-out'
    | 'session.revoke'
    | 'sub-account.create'
    | 'sub-account.update'
    | 'sub-account.portal'
    | 'sub-account.portal-end'
    | 'token.create'
    | 'token.update'
    | 'token.rotate'
    | 'token.reveal'
    | 'token.erase'
    | 'token.delete'
    | 'token.expiring'
    | 'bulk.create'
    | 'bulk.undo'
    | 'webhook.create'
    | 'webhook.update'
    | 'webhook.rotate'
    | 'webhook.redeliver'
    | 'webhook.skip'
    | 'webhook.disabled'
    | 'webhook.delete'
  /** The id of what was changed */
  readonly subject: string
  /** What it was called then, after the change */
  readonly subjectName: string | null
  /** The sub-account that was changed, or whose token was; null for neither */
  readonly subAccount: {
    /** Sub-account identifier */
    readonly _id: string
    /** Its present name */
    readonly name: string
  } | null
  /** The fields that changed, as they were before */
  readonly from: Readonly<Record<string, unknown>>
  /** The same fields after the change */
  readonly to: Readonly<Record<string, unknown>>
  /** The X-Request-Id of the change */
  readonly requestId: string | null
  /** The address it came from */
  readonly address: string | null
}

export interface HistoryPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly HistoryEntry[]
  /** The present names of the tokens, sub-accounts and account keys that the entries mention, by id */
  readonly names: Readonly<Record<string, string>>
}

export interface ListAccountHistoryParams extends Pick<ListTokensParams, 'page' | 'limit'> {
  /** Only what this actor did */
  readonly by?: string | undefined
  /** Only this kind of change */
  readonly action?:
    | 'account.create'
    | 'account.rename'
    | 'account.update'
    | 'key.create'
    | 'key.revoke'
    | 'session.sign-in'
    | 'session.choose'
    | 'session.sign-out'
    | 'session.revoke'
    | 'sub-account.create'
    | 'sub-account.update'
    | 'sub-account.portal'
    | 'sub-account.portal-end'
    | 'token.create'
    | 'token.update'
    | 'token.rotate'
    | 'token.reveal'
    | 'token.erase'
    | 'token.delete'
    | 'token.expiring'
    | 'bulk.create'
    | 'bulk.undo'
    | 'webhook.create'
    | 'webhook.update'
    | 'webhook.rotate'
    | 'webhook.redeliver'
    | 'webhook.skip'
    | 'webhook.disabled'
    | 'webhook.delete'
    | undefined
  /** Only what took access away: disabled, rotated, deleted, suspended, revoked, signed out by others */
  readonly effect?: 'revocation' | undefined
  /** Only changes at this time or later */
  readonly from?: string | undefined
  /** Only changes before this time */
  readonly before?: string | undefined
  /**
   * Only entries after this position, oldest first; 0 for the first one. A position is the `seq` of an entry; not
   * with `page`
   */
  readonly after?: string | undefined
  /** Only entries before this position, newest first. A position is the `seq` of an entry; not with `page` */
  readonly beforePosition?: string | undefined
  /** Only what was done to this sub-account and its tokens */
  readonly subAccountId?: string | undefined
}

export interface ListTokenHistoryParams
  extends Pick<
    ListAccountHistoryParams,
    'page' | 'limit' | 'by' | 'action' | 'effect' | 'from' | 'before' | 'after' | 'beforePosition'
  > {
  /** Also what was done to the policy or the suspension of its sub-account while the token was there */
  readonly include?: 'subAccount' | undefined
  /** The token id */
  readonly id: string
}

export interface Usage {
  /** What each bucket covers, in UTC */
  readonly per: 'hour' | 'day'
  /** Oldest first, empty ones included */
  readonly buckets: readonly {
    /** The beginning of the hour or day */
    readonly from: string
    /** Accepted verifications */
    readonly accepted: number
    readonly refused: {
      /** Refused because of `inactive` */
      readonly inactive: number
      /** Refused because of `expired` */
      readonly expired: number
      /** Refused because of `suspended` */
      readonly suspended: number
      /** Refused because of `address` */
      readonly address: number
      /** Refused because of `scope` */
      readonly scope: number
      /** Refused because of `rate` */
      readonly rate: number
      /** Refused because of `quota` */
      readonly quota: number
    }
  }[]
}

export interface GetTokenUsageParams {
  /** Hours are kept for 14 days, days for 400 */
  readonly per?: 'hour' | 'day' | undefined
  /** From the hour or day of this time on; by default 24 hours or 30 days before the end */
  readonly from?: string | undefined
  /** Only hours or days before this time; by default all until now */
  readonly before?: string | undefined
  /** The token id */
  readonly id: string
}

export interface GetUsageParams extends Pick<GetTokenUsageParams, 'per' | 'from' | 'before'> {
  /** Only its tokens; without it, those of all sub-accounts that the caller sees */
  readonly subAccountId?: string | undefined
}

export interface AcceptedVerification {
  /** Of the client; null: not known */
  readonly address: string | null
  /** The last time, to the minute */
  readonly at: string
}

export interface RefusedVerification extends AcceptedVerification {
  /** As in `X-Latchkey-Reason` */
  readonly reason: 'inactive' | 'expired' | 'suspended' | 'address' | 'scope' | 'rate' | 'quota'
}

export interface RecentVerifications {
  /** The last addresses, newest first */
  readonly accepted: readonly AcceptedVerification[]
  /** The last reasons and addresses, newest first */
  readonly refused: readonly RefusedVerification[]
}

export interface GetTokenRecentParams {
  /** The token id */
  readonly id: string
}

export interface SubAccount extends SubAccountSummary {
  /** While suspended, none of its tokens authenticates */
  readonly status: 'active' | 'suspended'
  /** Time of creation */
  readonly createdAt: string
  /** Since when it is suspended */
  readonly suspendedAt: string | null
  readonly tokens: {
    /** Tokens with status active */
    readonly active: number
    /** Tokens with status inactive */
    readonly inactive: number
  }
  /** A ceiling for all tokens; rate and quota are shared by all of them; null for none */
  readonly policy: {
    /** What it may do; `items:*` stands for all that begins with `items:` */
    readonly scopes?: readonly string[] | undefined
    /** From where: CIDR blocks or single addresses */
    readonly addresses?: readonly string[] | undefined
    readonly rate?: Rate | undefined
    readonly quota?: Quota | undefined
    /** No token works longer than this after its creation */
    readonly maxLifetimeSeconds?: number | undefined
  } | null
  /** A JSON object of your own, opaque to the service; null for none */
  readonly metadata: Readonly<Record<string, unknown>> | null
}

export interface Overview {
  readonly account: {
    /** Account identifier */
    readonly _id: string
    /** Account name */
    readonly name: string
  }
  /** The moment of which all this is true */
  readonly at: string
  readonly tokens: {
    /** Tokens with status active */
    readonly active: number
    /** Tokens with status inactive */
    readonly inactive: number
    /** Tokens never used */
    readonly neverUsed: number
    /** Tokens made and last used more than 90 days ago, or never used */
    readonly idle: number
    /** Status active, but expired */
    readonly expired: number
    /** Status active and not expired, but the sub-account is suspended */
    readonly suspended: number
    /** Status active, and will expire within 30 days */
    readonly expiringSoon: number
  }
  /** The end of those days */
  readonly expiringBefore: string
  readonly subAccounts: {
    /** All sub-accounts */
    readonly total: number
    /** Suspended ones */
    readonly suspended: number
    /** Those with the most tokens */
    readonly largest: readonly SubAccount[]
  }
  /**
   * The tokens used most in the last 7 days. Every token with more than a 51st of the uses of one of these days
   * is considered
   */
  readonly busiest: readonly {
    /** Token identifier */
    readonly _id: string
    /** Its name */
    readonly name: string
    readonly subAccount: SubAccountSummary
    /** Accepted verifications of the last 7 days */
    readonly accepted: number
  }[]
  /** Tokens by time of creation: the last 12 weeks, oldest first */
  readonly createdByWeek: readonly {
    /** Monday, UTC */
    readonly from: string
    /** The next */
    readonly before: string
    /** Tokens */
    readonly count: number
  }[]
}

export interface WhoAmI {
  readonly account: {
    /** Account identifier */
    readonly _id: string
    /** Account name */
    readonly name: string
  }
  readonly caller: {
    /** An account key, a JWT of the identity provider, or a person who is signed in to the console */
    readonly kind: 'key' | 'jwt' | 'oidc'
    /** As the history names the caller in `by` */
    readonly _id: string
    /** What the account key is called, the JWT's subject, or the person's e-mail address */
    readonly name: string
  }
  readonly permissions: {
    /**
     * `owner` may do everything, `manager` all but manage keys and sessions, `viewer` read and introspect,
     * `verifier` introspect
     */
    readonly role: 'owner' | 'manager' | 'viewer' | 'verifier'
    /** Whether credentials are shown */
    readonly reveal: boolean
    /** The ids of the only sub-accounts that are seen; null for all */
    readonly subAccounts: readonly string[] | null
  }
}

export interface Key {
  /** Account key identifier */
  readonly _id: string
  /** What it is for */
  readonly name: string
  /**
   * `owner` may do everything, `manager` all but manage keys and sessions, `viewer` read and introspect,
   * `verifier` introspect; null where its rights were altered and cannot be read, which lets nobody in
   */
  readonly role: 'owner' | 'manager' | 'viewer' | 'verifier' | null
  /** Whether credentials are shown */
  readonly reveal: boolean
  /** The ids of the only sub-accounts that are seen; null for all */
  readonly subAccounts: readonly string[] | null
  /** Time of creation */
  readonly createdAt: string
  /** When it stops working; null for never */
  readonly expiresAt: string | null
  /** Since when it is revoked */
  readonly revokedAt: string | null
  /** Last request with it, to the minute; null for never */
  readonly lastUsedAt: string | null
}

export interface KeyPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly Key[]
}

export interface ListKeysParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface CreatedKey
  extends Pick<
    Key,
    '_id' | 'name' | 'reveal' | 'subAccounts' | 'createdAt' | 'expiresAt' | 'revokedAt' | 'lastUsedAt'
  > {
  /**
   * `owner` may do everything, `manager` all but manage keys and sessions, `viewer` read and introspect,
   * `verifier` introspect
   */
  readonly role: 'owner' | 'manager' | 'viewer' | 'verifier'
  /** The key itself, shown only once */
  readonly key: string
}

export interface NewKey {
  /** What it is for */
  readonly name: string
  /** What it may do */
  readonly role: 'owner' | 'manager' | 'viewer' | 'verifier'
  /** Whether credentials are shown; only to owners unless set */
  readonly reveal?: boolean | undefined
  /** The only sub-accounts that it sees, 1 to 100; all if null or not sent */
  readonly subAccounts?: readonly string[] | null | undefined
  /** Never if null; if not sent, when the caller expires. At most that */
  readonly expiresAt?: string | null | undefined
}

export interface CreateKeyParams {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: NewKey
}

export interface RevokeKeyParams {
  /** The key id */
  readonly id: string
}

export interface LeakedToken extends Pick<Token, '_id' | 'name' | 'subAccount' | 'status'> {
  /** Whether the credential was accepted until now */
  readonly wasActive: boolean
}

export interface LeakReport {
  /** The tokens whose credentials stand in the text, each once */
  readonly found: readonly LeakedToken[]
  /** How many of them were switched off */
  readonly disabled: number
}

export interface LeakedText {
  /** What is searched */
  readonly text: string
  /** Find only, and change nothing */
  readonly dryRun?: boolean | undefined
}

export interface DisableLeakedParams {
  /** The same as in the body, for a body that is the text itself */
  readonly dryRun?: boolean | undefined
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: LeakedText
}

export interface Webhook {
  /** Webhook identifier */
  readonly _id: string
  /** Where events are sent */
  readonly url: string
  /** Which events it gets; null for all */
  readonly events: readonly string[] | null
  /** Whether an event waits for those before it */
  readonly order: 'strict' | 'none'
  /** Whether events are sent */
  readonly status: 'active' | 'inactive'
  /**
   * Events that it has not got yet. Where it is more than 10,000 entries of the history behind, all further ones
   * count
   */
  readonly behind: number
  /** When the last event was delivered */
  readonly lastSuccessAt: string | null
  /** Why the service has switched it off: `gone` (410), or `failing` for five days */
  readonly disabledBecause: 'gone' | 'failing' | null
  /** Until when the secret before the last rotation signs too */
  readonly formerSecretUntil: string | null
  /** When it was made */
  readonly createdAt: string
}

export interface WebhookPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly Webhook[]
}

export interface ListWebhooksParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface CreatedWebhook extends Webhook {
  /** Shown once: by this a receiver checks signatures */
  readonly secret: string
}

export interface NewWebhook {
  /** Where events are sent: https, or http */
  readonly url: string
  /** Which events it gets: names such as `token.update`, or `token.*`; null for all */
  readonly events?: readonly string[] | null | undefined
  /** `strict`: an event waits for those before it. `none`: one that fails is put aside */
  readonly order?: 'strict' | 'none' | undefined
}

export interface CreateWebhookParams {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: NewWebhook
}

export interface GetWebhookParams {
  /** The webhook id */
  readonly id: string
}

export interface WebhookPatch extends Pick<NewWebhook, 'events' | 'order'> {
  /** Where events are sent: https, or http */
  readonly url?: string | undefined
  /** Nothing is sent while it is inactive */
  readonly status?: 'active' | 'inactive' | undefined
}

export interface PatchWebhookParams {
  /** The webhook id */
  readonly id: string
  readonly body: WebhookPatch
}

export interface DeletedWebhook {
  /** The webhook that is gone */
  readonly _id: string
}

export interface DeleteWebhookParams {
  /** The webhook id */
  readonly id: string
}

export interface RotateWebhookParams {
  /** The webhook id */
  readonly id: string
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
}

export interface WebhookTest {
  /** Whether the receiver has taken the event */
  readonly delivered: boolean
  /** What the receiver answered last; null without an answer */
  readonly responseStatus: number | null
  /** Why not */
  readonly error: string | null
}

export interface TestWebhookParams {
  /** The webhook id */
  readonly id: string
}

export interface Delivery {
  /** Delivery identifier, which the receiver gets as `webhook-id` */
  readonly _id: string
  /** The action of the history */
  readonly event: string
  /** The entry of the history */
  readonly seq: number
  /** The last attempt */
  readonly at: string
  /** How many there were */
  readonly attempts: number
  /** Whether it waits for another attempt */
  readonly status: 'waiting' | 'delivered' | 'skipped'
  /** What the receiver answered last; null without an answer */
  readonly responseStatus: number | null
  /** Why the last attempt failed */
  readonly error: string | null
  /** When it is tried again */
  readonly nextAttemptAt: string | null
}

export interface DeliveryPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly Delivery[]
}

export interface ListDeliveriesParams extends Pick<ListTokensParams, 'page' | 'limit'> {
  /** The webhook id */
  readonly id: string
}

export interface RedeliverParams extends RotateWebhookParams {
  /** The delivery id */
  readonly deliveryId: string
}

export interface SkipDeliveryParams extends RedeliverParams {}

export interface Session {
  /** Session identifier */
  readonly _id: string
  /** The person, as the identity provider knows them */
  readonly subject: string
  /** Their e-mail address when they signed in */
  readonly email: string | null
  /** When they signed in */
  readonly createdAt: string
  /** Their last request, to the minute */
  readonly lastUsedAt: string
  /** When they are signed out unless they go on */
  readonly expiresAt: string
  /** What their grant lets them do in this account now; null without one */
  readonly role: string | null
  /** Where they signed in from; null for sessions begun before this was stored */
  readonly address: string | null
  /** What their browser says of itself, at most 200 characters of it */
  readonly userAgent: string | null
}

export interface SessionPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly Session[]
}

export interface ListSessionsParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface RevokeSessionParams {
  /** The session id */
  readonly id: string
}

export interface Grant extends Pick<CreatedKey, 'role' | 'reveal' | 'subAccounts'> {
  /** The claim of the identity provider */
  readonly claim: string
  /** The value that it has, or that its list contains */
  readonly value: string
}

export interface Grants {
  /** In the order of the file */
  readonly grants: readonly Grant[]
}

export interface TestedGrant extends Grant {
  /** Whether the claims have its value */
  readonly matches: boolean
  /** Whether it is the first that matches: its rights are those of the person */
  readonly decides: boolean
}

export interface TestedClaims {
  /** Whether a person with these claims can enter the account */
  readonly isAdmitted: boolean
  /** Claims that grants name and that were sent, but do not count, such as an e-mail address that is not verified */
  readonly ignored: readonly string[]
  /** In the order of the file */
  readonly grants: readonly TestedGrant[]
}

export interface ClaimsTest {
  /** As the identity provider says them */
  readonly claims: Readonly<Record<string, unknown>>
}

export interface TestGrantsParams {
  readonly body: ClaimsTest
}

export interface SubAccountPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly SubAccount[]
}

export interface ListSubAccountsParams extends Pick<ListTokensParams, 'page' | 'limit'> {
  /** Part of the name, e-mail address or company */
  readonly search?: string | undefined
}

/** A ceiling for all tokens; rate and quota are shared by all of them */
export interface SubAccountPolicy extends TokenPolicy {
  /** No token works longer than this after its creation */
  readonly maxLifetimeSeconds?: number | undefined
}

export interface NewSubAccount extends Pick<SubAccountSummary, 'name' | 'email' | 'companyName'> {
  /** A JSON object of your own, at most 4096 bytes as stored */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** What the token, or every token of the sub-account, may do; a merge patch in PATCH */
  readonly policy?: SubAccountPolicy | null | undefined
}

export interface CreateSubAccountParams {
  /**
   * A retry with the same key does nothing again and gets the same answer, for 24 hours and for the same caller;
   * 409 where that would show a credential or key that is not stored
   */
  readonly 'idempotency-key'?: string | undefined
  readonly body: NewSubAccount
}

export interface GetSubAccountParams {
  /** The sub-account id */
  readonly id: string
}

export interface SubAccountPolicyPatch extends TokenPolicyPatch {
  /** No token works longer than this after its creation */
  readonly maxLifetimeSeconds?: number | null | undefined
}

export interface SubAccountPatch {
  /** What people call it */
  readonly name?: string | undefined
  /** How its contact person is reached */
  readonly email?: string | undefined
  /** The company behind the sub-account */
  readonly companyName?: string | undefined
  /** `suspended` keeps all its tokens from authenticating, at once */
  readonly status?: 'active' | 'suspended' | undefined
  /** A JSON object of your own, at most 4096 bytes as stored */
  readonly metadata?: Readonly<Record<string, unknown>> | null | undefined
  /** What the token, or every token of the sub-account, may do; a merge patch in PATCH */
  readonly policy?: SubAccountPolicyPatch | null | undefined
}

export interface PatchSubAccountParams {
  /** The sub-account id */
  readonly id: string
  /** An ETag: go ahead only if the sub-account is still as it was */
  readonly 'if-match'?: string | undefined
  readonly body: SubAccountPatch
}

export interface AffectedToken extends Pick<Token, '_id' | 'name'> {
  /** When it was last used; null for never */
  readonly lastUsedAt: string | null
  readonly losses: readonly {
    /** As verification would say it */
    readonly reason: 'lifetime' | 'address' | 'scope'
    /** `all`: nothing that needs it would be accepted */
    readonly extent: 'all' | 'some'
  }[]
}

export interface PolicyImpact {
  /** Active tokens of the sub-account */
  readonly active: number
  /** How many of them were examined: the newest 10,000 at most */
  readonly examined: number
  /** How many of those would lose something */
  readonly affected: number
  /** How many of the affected ones were used within a week */
  readonly inUse: number
  /** At most 20 of them, those used last first */
  readonly sample: readonly AffectedToken[]
}

export interface PolicyPreview {
  /** What the token, or every token of the sub-account, may do; a merge patch in PATCH */
  readonly policy?: SubAccountPolicyPatch | null | undefined
}

export interface PreviewPolicyParams {
  /** The sub-account id */
  readonly id: string
  readonly body: PolicyPreview
}

export interface CreatedPortalSession {
  /** Works once, within 15 minutes */
  readonly code: string
  /**
   * A page of the service that begins the session: a path, unless the service knows its address
   * (`LATCHKEY_PUBLIC_URL`)
   */
  readonly url: string
  /** When the session ends */
  readonly expiresAt: string
}

export interface NewPortalSession {
  /** Whose tokens, and the only ones */
  readonly subAccountId: string
  /**
   * `read` tokens, without other credentials than new ones, `create` them, `rotate` them, `disable` them (not
   * enable), and see their `usage`
   */
  readonly may?: readonly ('read' | 'create' | 'rotate' | 'disable' | 'usage')[] | undefined
  /** Of the page that has the component in it: browsers may use the session from there only */
  readonly origin?: string | undefined
  /** How long the session lasts, from now on */
  readonly expiresInSeconds?: number | undefined
}

export interface CreatePortalSessionParams {
  readonly body: NewPortalSession
}

export interface ListedPortalSession {
  /** Identifier, as in `portal:` of the history */
  readonly _id: string
  /** Whose tokens */
  readonly subAccountId: string
  /**
   * `read` tokens, without other credentials than new ones, `create` them, `rotate` them, `disable` them (not
   * enable), and see their `usage`
   */
  readonly may: readonly ('read' | 'create' | 'rotate' | 'disable' | 'usage')[]
  /** The only page that may use it; null without one */
  readonly origin: string | null
  /** Who has made it, as in the history */
  readonly by: string
  /** What they were called then */
  readonly byName: string | null
  /** When it was made */
  readonly createdAt: string
  /** When it ends unless its maker or somebody else ends it before */
  readonly expiresAt: string
}

export interface PortalSessionPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly ListedPortalSession[]
}

export interface ListPortalSessionsParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface EndPortalSessionParams {
  /** The id of the session */
  readonly id: string
}

export interface PortalSession {
  /** The bearer of the requests that the session is for, shown only once */
  readonly session: string
  /** When the session ends */
  readonly expiresAt: string
  readonly subAccount: SubAccountSummary
  /**
   * `read` tokens, without other credentials than new ones, `create` them, `rotate` them, `disable` them (not
   * enable), and see their `usage`
   */
  readonly may: readonly ('read' | 'create' | 'rotate' | 'disable' | 'usage')[]
}

export interface PortalCode {
  /** Works once, within 15 minutes */
  readonly code: string
}

export interface BeginPortalSessionParams {
  readonly body: PortalCode
}

export interface Lease {
  /** The lease */
  readonly lease: string
  /** To be sent with the next call */
  readonly position: string
  /** How long it may decide, from the sending of the call */
  readonly termMs: number
  /** Whether `usage` may be sent; older versions refuse it */
  readonly takesUsage: boolean
  /** What was changed: everything, or `{tokenId}`, `{subAccountId}` or `{accountId}` each */
  readonly forget: 'all' | readonly Readonly<Record<string, string>>[]
}

export interface VerifierReport {
  /** What is sent again under the same one is not added again */
  readonly number: number
  /** By token, how often it was decided so, by `accepted` or the reason; at most 2000 tokens */
  readonly tokens: Readonly<Record<string, Readonly<Record<string, number>>>>
}

export interface ReportedVerification {
  /** Null: accepted */
  readonly reason: 'inactive' | 'expired' | 'suspended' | 'address' | 'scope' | 'rate' | 'quota' | null
  readonly address: string | null
  readonly agoMs: number
  /** The last use of a former credential, beside the verification: `formerUntil` of the entry */
  readonly formerUntil?: number | undefined
}

export interface VerifierUsage {
  /** Of the process: random */
  readonly source: string
  /** Those that are not answered */
  readonly reports: readonly VerifierReport[]
  /** By token, its last verifications, at most 1000 together; those that are sent again change nothing */
  readonly recent?: Readonly<Record<string, readonly ReportedVerification[]>> | undefined
}

export interface LeaseCall {
  /** The lease to prolong; without it, another one begins */
  readonly lease?: string | undefined
  /** Of the last answer. All that was changed up to there is forgotten, it says */
  readonly position?: string | undefined
  /** What people call the verifier */
  readonly name?: string | undefined
  /** Of its software */
  readonly version?: string | undefined
  /** The term of a lease that begins */
  readonly leaseSeconds?: number | undefined
  /** It has forgotten everything and needs the lease no longer: no change waits for it */
  readonly end?: boolean | undefined
  /** By token, how many milliseconds ago it was used last; at most 1000 */
  readonly uses?: Readonly<Record<string, number>> | undefined
  readonly usage?: VerifierUsage | undefined
  /** How often it has decided so since its last call that was answered, by `accepted` or the reason */
  readonly verdicts?: Readonly<Record<string, number>> | undefined
}

export interface LeaseVerifierParams {
  readonly body: LeaseCall
}

/** What may be remembered; absent where the service must be asked each time */
export interface RememberedVerdict {
  readonly tokenId: string
  readonly subAccountId: string
  readonly accountId: string
  readonly version: number
  readonly refused: 'inactive' | 'expired' | 'suspended' | null
  /** How long it holds by itself; null: always */
  readonly endsInMs: number | null
  /** The one of the token, and the one of its sub-account; null restricts nothing */
  readonly policies: readonly ({
    readonly scopes?: readonly string[] | undefined
    readonly addresses?: readonly string[] | undefined
  } | null)[]
  /** Of a former credential, for reports of its use */
  readonly formerUntil?: number | undefined
}

export interface VerifierVerdict {
  readonly accepted: boolean
  /** Why it is refused, as in `X-Latchkey-Reason` */
  readonly reason?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly tokenId?: string | undefined
  readonly subAccountId?: string | undefined
  readonly accountId?: string | undefined
  readonly version?: number | undefined
  /** Null: all */
  readonly scopes?: readonly string[] | null | undefined
  /** What is left of rates and quotas */
  readonly left?:
    | readonly {
        readonly of: string
        readonly limit: number
        readonly left: number
        readonly resetSeconds: number | null
      }[]
    | undefined
  /** Where it has a rate or quota: `RateLimit-Policy` and `RateLimit`, as `/api/v1/verify` would send them */
  readonly limitHeaders?: Readonly<Record<string, string>> | undefined
  readonly entry?: RememberedVerdict | undefined
}

export interface VerifierQuestion {
  readonly credential: string
  /** Scopes that are all needed, separated by spaces; an array of such alternatives */
  readonly scope?: string | readonly string[] | undefined
  /** Where the credential is used from */
  readonly address?: string | undefined
}

export interface AskVerdictParams {
  readonly body: VerifierQuestion
}

export interface Verifier {
  /** Verifier identifier */
  readonly _id: string
  /** What people call it */
  readonly name: string | null
  /** When its lease began */
  readonly since: string
  /** Its last call */
  readonly confirmedAt: string
  /** Of its software */
  readonly version: string | null
}

export interface VerifierPage
  extends Pick<TokenPage, 'total' | 'page' | 'limit' | 'totalPages' | 'hasNextPage' | 'hasPrevPage'> {
  readonly items: readonly Verifier[]
}

export interface ListVerifiersParams extends Pick<ListTokensParams, 'page' | 'limit'> {}

export interface EvictVerifierParams {
  /** The verifier id */
  readonly id: string
}

export interface VerifyParams {
  /** The scopes needed, separated by spaces; repeated: one of these sets is enough */
  readonly scope?: readonly string[] | undefined
}

export interface IntrospectionResponse {
  /** Whether it authenticates now. Where not, nothing else is said */
  readonly active: boolean
  /** The sub-account */
  readonly sub?: string | undefined
  /** The account */
  readonly client_id?: string | undefined
  /** Time of creation, in seconds since 1970 */
  readonly iat?: number | undefined
  /**
   * When it stops working, in seconds since 1970: it expires, is as old as its sub-account allows, or the overlap
   * after a rotation ends, whichever is first; absent for never
   */
  readonly exp?: number | undefined
  /** Always `Bearer` */
  readonly token_type?: string | undefined
  readonly token_id?: string | undefined
  /** The same as `sub` */
  readonly sub_account_id?: string | undefined
  /** The same as `client_id` */
  readonly account_id?: string | undefined
  /** Counts the changes of the token */
  readonly token_version?: number | undefined
  /** What it may do, separated by spaces; absent where not restricted */
  readonly scope?: string | undefined
}

export interface IntrospectionRequest {
  /** The credential */
  readonly token: string
  /** Ignored */
  readonly token_type_hint?: string | undefined
  /** Ignored */
  readonly client_id?: string | undefined
  /** The account key, where no header carries it */
  readonly client_secret?: string | undefined
}

export interface IntrospectParams {
  readonly body: IntrospectionRequest
}

/** What `X-Latchkey-Error` names; later versions may add codes. */
export type ErrorCode =
  | 'account-not-found'
  | 'authentication-required'
  | 'body-too-large'
  | 'bulk-not-found'
  | 'bulk-not-undoable'
  | 'bulk-total-differs'
  | 'conflict'
  | 'credential-not-stored'
  | 'delivery-not-found'
  | 'duplicate-credential'
  | 'duplicate-name'
  | 'forbidden'
  | 'gone'
  | 'idempotency-conflict'
  | 'internal-error'
  | 'invalid-request'
  | 'key-not-found'
  | 'lease-lost'
  | 'master-key-superseded'
  | 'not-allowed'
  | 'not-found'
  | 'outcome-unknown'
  | 'precondition-failed'
  | 'rate-limited'
  | 'revocations-unknown'
  | 'session-not-found'
  | 'store-full'
  | 'sub-account-forbidden'
  | 'token-cannot-manage'
  | 'token-expired'
  | 'token-inactive'
  | 'token-invalid'
  | 'token-not-found'
  | 'too-many-bulk'
  | 'too-many-verifiers'
  | 'too-many-webhooks'
  | 'unavailable'
  | 'unsupported-media-type'
  | 'verifier-evicted'
  | 'verifier-not-found'
  | 'version-mismatch'
  | 'webhook-not-found'

export interface Operations {
  /** List tokens. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV, without pages. */
  listTokens: { params: ListTokensParams; data: TokenPage }
  /** Create a token. */
  createToken: { params: CreateTokenParams; data: Token }
  /**
   * List tokens of one sub-account. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV,
   * without pages.
   */
  listTokensOfSubAccount: { params: ListTokensOfSubAccountParams; data: TokenPage }
  /** Get one token. */
  getToken: { params: GetTokenParams; data: Token }
  /** Rename, disable or re-enable a token. */
  updateToken: { params: UpdateTokenParams; data: Token }
  /**
   * Change any field of a token. A JSON merge patch (RFC 7396): null clears a field, members of `metadata` and
   * `policy` included.
   */
  patchToken: { params: PatchTokenParams; data: Token }
  /** Delete a token. */
  deleteToken: { params: DeleteTokenParams; data: DeletedToken }
  /**
   * Give a token a new credential. The former credential works for `overlapSeconds` more. With 0, or without it,
   * all former credentials stop at once.
   */
  rotateToken: { params: RotateTokenParams; data: Token }
  /** Show the credential of a token. The history says who has seen it. */
  revealToken: { params: RevealTokenParams; data: Token }
  /**
   * What verification would say of a token, and why. Uses nothing up. Without `address`, a token that is bound to
   * addresses is refused.
   */
  explainToken: { params: ExplainTokenParams; data: Explanation }
  /**
   * Disable, enable, expire or delete all tokens that a filter matches. The tokens are those that match at one
   * moment of the request; each is changed if it still matches in its turn. What somebody has changed meanwhile
   * is not enabled. It goes on after the answer, also after a restart, and takes turns with other changes. It
   * fails if the key by which it was ordered is revoked, or the store is restored to an earlier state.
   */
  changeTokens: { params: ChangeTokensParams; data: BulkOperation | BulkPreview }
  /** List bulk operations, newest first. A key for some sub-accounts gets those of keys for the same ones. */
  listBulk: { params: ListBulkParams; data: BulkPage }
  /** Get one bulk operation, and how far it is. */
  getBulk: { params: GetBulkParams; data: BulkOperation }
  /**
   * Restore what a bulk operation has changed. Each token that it has changed gets what it had before, unless
   * anything of it was changed since. One that runs stops where it is. What was deleted cannot be restored. It
   * can be undone for 30 days.
   */
  undoBulk: { params: UndoBulkParams; data: BulkOperation }
  /**
   * History of the account, newest first. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV,
   * without pages.
   */
  listAccountHistory: { params: ListAccountHistoryParams; data: HistoryPage }
  /**
   * History of one token, newest first, also after its deletion. `Accept: text/csv` or `format=csv`: all that the
   * filters match, as CSV, without pages.
   */
  listTokenHistory: { params: ListTokenHistoryParams; data: HistoryPage }
  /**
   * How often a token was accepted and refused. Verifications of known credentials: what is unknown is of no
   * token. Written every 4 seconds, by verifiers with their leases; a process that is killed loses what it has
   * not written. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV, without pages.
   */
  getTokenUsage: { params: GetTokenUsageParams; data: Usage }
  /**
   * How often the tokens of a sub-account or of the account were accepted and refused. Verifications of known
   * credentials: what is unknown is of no token. Written every 4 seconds, by verifiers with their leases; a
   * process that is killed loses what it has not written. Deleted tokens still count. `Accept: text/csv` or
   * `format=csv`: all that the filters match, as CSV, without pages.
   */
  getUsage: { params: GetUsageParams; data: Usage }
  /**
   * From where a token was accepted last, and why it was refused. The last 5 addresses, and the last 5 refusals
   * that differ in reason or address, of 90 days. Written as usage is.
   */
  getTokenRecent: { params: GetTokenRecentParams; data: RecentVerifications }
  /**
   * The account at a glance. Exact counts from one moment. Each is the `total` of the token list with the
   * matching filters: `status`, `effectiveStatus`, `used=never`, `expiresFrom` and `expiresBefore`, `createdFrom`
   * and `createdBefore`.
   */
  getOverview: { params: Readonly<Record<never, never>>; data: Overview }
  /** Who is asking, and what they may do. */
  whoami: { params: Readonly<Record<never, never>>; data: WhoAmI }
  /**
   * List account keys, newest first. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV,
   * without pages.
   */
  listKeys: { params: ListKeysParams; data: KeyPage }
  /**
   * Create an account key. The key is shown only in this answer. No key can make one that may do more than
   * itself, or that outlives it.
   */
  createKey: { params: CreateKeyParams; data: CreatedKey }
  /** Revoke an account key. */
  revokeKey: { params: RevokeKeyParams; data: Key }
  /**
   * Switch off the tokens whose credentials stand in a text. Any text: a log, a diff, the report of a scanner.
   * Credentials of our own format are found as they are, percent-encoded and in base64, imported ones as whole
   * words; so are former ones that still work. With the type `text/plain` the body is the text itself. No part of
   * it is stored or logged. A dry run needs only the right to read.
   */
  disableLeaked: { params: DisableLeakedParams; data: LeakReport }
  /** List webhooks, newest first. */
  listWebhooks: { params: ListWebhooksParams; data: WebhookPage }
  /**
   * Create a webhook. It gets what happens from now on. The secret, by which a receiver checks signatures, is
   * shown only in this answer.
   */
  createWebhook: { params: CreateWebhookParams; data: CreatedWebhook }
  /** Get one webhook. */
  getWebhook: { params: GetWebhookParams; data: Webhook }
  /** Change a webhook. Switched on again, it gets all that happened meanwhile. */
  patchWebhook: { params: PatchWebhookParams; data: Webhook }
  /** Delete a webhook. */
  deleteWebhook: { params: DeleteWebhookParams; data: DeletedWebhook }
  /** Give a webhook a new secret. For 24 hours the former secret signs too. */
  rotateWebhook: { params: RotateWebhookParams; data: CreatedWebhook }
  /** Send an event of the type webhook.test, at once and once. */
  testWebhook: { params: TestWebhookParams; data: WebhookTest }
  /**
   * What was sent to a webhook, newest event first. The last 500, and all that wait for another attempt. Events
   * behind one that waits in strict order were not tried yet.
   */
  listDeliveries: { params: ListDeliveriesParams; data: DeliveryPage }
  /** Send an event again, at once. Whatever the order is; one that waits is tried now. */
  redeliver: { params: RedeliverParams; data: Delivery }
  /** Do not send an event that waits for another attempt. In strict order, the events behind it are sent then. */
  skipDelivery: { params: SkipDeliveryParams; data: Delivery }
  /** List the people who are signed in to the console and can enter the account, newest first. */
  listSessions: { params: ListSessionsParams; data: SessionPage }
  /**
   * Sign somebody out. Their next request is refused, in every account. To keep somebody from signing in again,
   * change the grants.
   */
  revokeSession: { params: RevokeSessionParams; data: Session }
  /** List the grants by which people enter this account. */
  listGrants: { params: Readonly<Record<never, never>>; data: Grants }
  /**
   * Test which grants match the claims of a person. Decided as at sign-in, by the grants as they are now. Changes
   * nothing, and nobody is signed in.
   */
  testGrants: { params: TestGrantsParams; data: TestedClaims }
  /** List sub-accounts. `Accept: text/csv` or `format=csv`: all that the filters match, as CSV, without pages. */
  listSubAccounts: { params: ListSubAccountsParams; data: SubAccountPage }
  /** Create a sub-account. */
  createSubAccount: { params: CreateSubAccountParams; data: SubAccount }
  /** Get one sub-account. */
  getSubAccount: { params: GetSubAccountParams; data: SubAccount }
  /**
   * Change, suspend or resume a sub-account. A JSON merge patch (RFC 7396): null clears a field, members of
   * `metadata` and `policy` included. While suspended, none of its tokens authenticates; their own status stays
   * as it is.
   */
  patchSubAccount: { params: PatchSubAccountParams; data: SubAccount }
  /**
   * Which tokens another policy of their sub-account would cut off. Changes nothing. By the policies, the
   * lifetimes and the last uses of its active tokens. Rates and quotas are not considered: all tokens share them.
   */
  previewPolicy: { params: PreviewPolicyParams; data: PolicyImpact }
  /**
   * Let the developers of a sub-account look after its tokens for a while. The session can do no more than its
   * maker. It ends with the account key or the session of the person that makes it, and never outlives a JWT. The
   * history says `portal:` and its id of what is done in it.
   */
  createPortalSession: { params: CreatePortalSessionParams; data: CreatedPortalSession }
  /**
   * List the sessions of the portal that last, newest first. Also those that nobody has begun yet. One that a
   * person has made is listed until their session ends.
   */
  listPortalSessions: { params: ListPortalSessionsParams; data: PortalSessionPage }
  /** End a session of the portal. */
  endPortalSession: { params: EndPortalSessionParams; data: ListedPortalSession }
  /** Begin a session of the portal with its code. */
  beginPortalSession: { params: BeginPortalSessionParams; data: PortalSession }
  /**
   * Begin or prolong the lease of a verifier, and wait for what it has to forget. Answered at once where
   * something was changed, otherwise after two fifths of the term at most. For verifiers only:
   * docs/reference/verifier-protocol.md has the rules that make it safe to remember a verdict.
   */
  leaseVerifier: { params: LeaseVerifierParams; data: Lease }
  /**
   * Verify a credential for a verifier, with what it may remember. Credentials of other accounts are unknown. The
   * address in the body counts: the caller is the one who is asked for entry.
   */
  askVerdict: { params: AskVerdictParams; data: VerifierVerdict }
  /**
   * List the verifiers that hold a lease, newest first. None for a key that sees only some sub-accounts. Those
   * with a key for all accounts are for the operator.
   */
  listVerifiers: { params: ListVerifiersParams; data: VerifierPage }
  /**
   * Evict a verifier: it gets no further lease. It may decide by what it remembers until its lease has run out.
   * To keep it out, revoke its key.
   */
  evictVerifier: { params: EvictVerifierParams; data: Verifier }
  /**
   * Verify a credential (forward-auth). For nginx `auth_request`, Caddy `forward_auth` and the like: 204 lets the
   * request pass, anything else does not. The store is asked every time.
   */
  verify: { params: VerifyParams; data: undefined }
  /**
   * Introspect a credential (RFC 7662). Answers 200 for dead tokens too: never use it as a forward-auth target.
   * The account key is sent as a bearer, or as the secret of an OAuth client: by HTTP Basic or as `client_secret`
   * in the form. Any client id will do.
   */
  introspect: { params: IntrospectParams; data: IntrospectionResponse }
}

/** Of the service that this client was made for. */
export const VERSION = '0.2.0'

/** @internal */
export interface Endpoint {
  /** Of the request. */
  readonly method: string
  readonly path: string
  /** The parameters that are headers. */
  readonly headers: readonly string[]
  /** The media type. */
  readonly body?: string
  /** What a call resolves to: the `data` of the answer, a page of it, the whole body, or nothing. */
  readonly answer: 'data' | 'page' | 'body' | 'none'
}

/** @internal */
export const operations: Readonly<Record<keyof Operations, Endpoint>> = {
  listTokens: { method: 'GET', path: '/api/v1/apiClient/token', headers: [], answer: 'page' },
  createToken: {
    method: 'POST',
    path: '/api/v1/apiClient/token',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  listTokensOfSubAccount: {
    method: 'GET',
    path: '/api/v1/apiClient/token/sub-account/{subAccountId}',
    headers: [],
    answer: 'page',
  },
  getToken: { method: 'GET', path: '/api/v1/apiClient/token/{id}', headers: [], answer: 'data' },
  updateToken: {
    method: 'PUT',
    path: '/api/v1/apiClient/token/{id}',
    headers: ['if-match'],
    body: 'application/json',
    answer: 'data',
  },
  patchToken: {
    method: 'PATCH',
    path: '/api/v1/apiClient/token/{id}',
    headers: ['if-match'],
    body: 'application/json',
    answer: 'data',
  },
  deleteToken: { method: 'DELETE', path: '/api/v1/apiClient/token/{id}', headers: ['if-match'], answer: 'data' },
  rotateToken: {
    method: 'POST',
    path: '/api/v1/apiClient/token/{id}/rotate',
    headers: ['if-match', 'idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  revealToken: {
    method: 'POST',
    path: '/api/v1/apiClient/token/{id}/reveal',
    headers: ['if-match', 'idempotency-key'],
    answer: 'data',
  },
  explainToken: { method: 'GET', path: '/api/v1/apiClient/token/{id}/explain', headers: [], answer: 'data' },
  changeTokens: {
    method: 'POST',
    path: '/api/v1/apiClient/token/bulk',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  listBulk: { method: 'GET', path: '/api/v1/apiClient/token/bulk', headers: [], answer: 'page' },
  getBulk: { method: 'GET', path: '/api/v1/apiClient/token/bulk/{id}', headers: [], answer: 'data' },
  undoBulk: {
    method: 'POST',
    path: '/api/v1/apiClient/token/bulk/{id}/undo',
    headers: ['idempotency-key'],
    answer: 'data',
  },
  listAccountHistory: { method: 'GET', path: '/api/v1/apiClient/history', headers: [], answer: 'page' },
  listTokenHistory: { method: 'GET', path: '/api/v1/apiClient/token/{id}/history', headers: [], answer: 'page' },
  getTokenUsage: { method: 'GET', path: '/api/v1/apiClient/token/{id}/usage', headers: [], answer: 'data' },
  getUsage: { method: 'GET', path: '/api/v1/apiClient/usage', headers: [], answer: 'data' },
  getTokenRecent: { method: 'GET', path: '/api/v1/apiClient/token/{id}/recent', headers: [], answer: 'data' },
  getOverview: { method: 'GET', path: '/api/v1/apiClient/overview', headers: [], answer: 'data' },
  whoami: { method: 'GET', path: '/api/v1/apiClient/whoami', headers: [], answer: 'data' },
  listKeys: { method: 'GET', path: '/api/v1/apiClient/key', headers: [], answer: 'page' },
  createKey: {
    method: 'POST',
    path: '/api/v1/apiClient/key',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  revokeKey: { method: 'DELETE', path: '/api/v1/apiClient/key/{id}', headers: [], answer: 'data' },
  disableLeaked: {
    method: 'POST',
    path: '/api/v1/apiClient/leak',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  listWebhooks: { method: 'GET', path: '/api/v1/apiClient/webhook', headers: [], answer: 'page' },
  createWebhook: {
    method: 'POST',
    path: '/api/v1/apiClient/webhook',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  getWebhook: { method: 'GET', path: '/api/v1/apiClient/webhook/{id}', headers: [], answer: 'data' },
  patchWebhook: {
    method: 'PATCH',
    path: '/api/v1/apiClient/webhook/{id}',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  deleteWebhook: { method: 'DELETE', path: '/api/v1/apiClient/webhook/{id}', headers: [], answer: 'data' },
  rotateWebhook: {
    method: 'POST',
    path: '/api/v1/apiClient/webhook/{id}/rotate',
    headers: ['idempotency-key'],
    answer: 'data',
  },
  testWebhook: { method: 'POST', path: '/api/v1/apiClient/webhook/{id}/test', headers: [], answer: 'data' },
  listDeliveries: { method: 'GET', path: '/api/v1/apiClient/webhook/{id}/deliveries', headers: [], answer: 'page' },
  redeliver: {
    method: 'POST',
    path: '/api/v1/apiClient/webhook/{id}/deliveries/{deliveryId}/redeliver',
    headers: ['idempotency-key'],
    answer: 'data',
  },
  skipDelivery: {
    method: 'POST',
    path: '/api/v1/apiClient/webhook/{id}/deliveries/{deliveryId}/skip',
    headers: ['idempotency-key'],
    answer: 'data',
  },
  listSessions: { method: 'GET', path: '/api/v1/apiClient/session', headers: [], answer: 'page' },
  revokeSession: { method: 'DELETE', path: '/api/v1/apiClient/session/{id}', headers: [], answer: 'data' },
  listGrants: { method: 'GET', path: '/api/v1/apiClient/grant', headers: [], answer: 'data' },
  testGrants: {
    method: 'POST',
    path: '/api/v1/apiClient/grant/test',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  listSubAccounts: { method: 'GET', path: '/api/v1/apiClient/sub-account', headers: [], answer: 'page' },
  createSubAccount: {
    method: 'POST',
    path: '/api/v1/apiClient/sub-account',
    headers: ['idempotency-key'],
    body: 'application/json',
    answer: 'data',
  },
  getSubAccount: { method: 'GET', path: '/api/v1/apiClient/sub-account/{id}', headers: [], answer: 'data' },
  patchSubAccount: {
    method: 'PATCH',
    path: '/api/v1/apiClient/sub-account/{id}',
    headers: ['if-match'],
    body: 'application/json',
    answer: 'data',
  },
  previewPolicy: {
    method: 'POST',
    path: '/api/v1/apiClient/sub-account/{id}/policy-impact',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  createPortalSession: {
    method: 'POST',
    path: '/api/v1/apiClient/portal-session',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  listPortalSessions: { method: 'GET', path: '/api/v1/apiClient/portal-session', headers: [], answer: 'page' },
  endPortalSession: { method: 'DELETE', path: '/api/v1/apiClient/portal-session/{id}', headers: [], answer: 'data' },
  beginPortalSession: {
    method: 'POST',
    path: '/api/v1/portal/session',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  leaseVerifier: {
    method: 'POST',
    path: '/api/v1/apiClient/verifier/lease',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  askVerdict: {
    method: 'POST',
    path: '/api/v1/apiClient/verifier/verify',
    headers: [],
    body: 'application/json',
    answer: 'data',
  },
  listVerifiers: { method: 'GET', path: '/api/v1/apiClient/verifier', headers: [], answer: 'page' },
  evictVerifier: { method: 'DELETE', path: '/api/v1/apiClient/verifier/{id}', headers: [], answer: 'data' },
  verify: { method: 'GET', path: '/api/v1/verify', headers: [], answer: 'none' },
  introspect: {
    method: 'POST',
    path: '/oauth2/introspect',
    headers: [],
    body: 'application/x-www-form-urlencoded',
    answer: 'body',
  },
}
