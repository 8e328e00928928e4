// The schemas of responses. A schema is the type, the list of fields that are sent, and the description; its title is its
// name in the API description and in generated clients.
import { type Static, type TObject, type TSchema, Type } from 'typebox'
import { ACTIONS } from '../../tokens/model/actions.ts'
import type { Json, JsonObject } from '../../tokens/model/fields.ts'
import { EXPIRING_DAYS, IDLE_DAYS, WEEKS } from '../../tokens/model/overview.ts'
import { DEFAULT_LIMIT, MAX_LIMIT, MAX_PAGE } from '../../tokens/model/page.ts'
import { STATUSES } from '../../tokens/model/token.ts'
import { MAX_METADATA_BYTES, SUB_ACCOUNT_STATUSES } from '../../tokens/model/update.ts'
import {
  MAX_LIFETIME_SECONDS,
  MAX_LISTED,
  MAX_QUOTA,
  MAX_RATE,
  MAX_RATE_SECONDS,
  type Policy,
  QUOTA_PERIODS,
} from '../../tokens/verify/policy.ts'
import { EFFECTIVE_STATUSES } from '../../tokens/verify/verdict.ts'

export const text = (description: string, example?: string) =>
  Type.String(example === undefined ? { description } : { description, examples: [example] })
/** The serializer formats a Date faster than `toISOString` does. */
export const time = (description: string) =>
  Type.Unsafe<Date | string>(Type.String({ description, format: 'date-time', examples: ['2026-01-31T09:30:00.000Z'] }))
/** A list of types: for a union, the serializer would validate every value. */
export const orNull = (schema: object) => Type.Unsafe<string | null>({ ...schema, type: ['string', 'null'] })
export const timeOrNull = (description: string) => orNull({ format: 'date-time', description })
export const count = (description: string) => Type.Integer({ description, examples: [1] })
export const oneOf = <Value extends string>(values: readonly Value[], description: string, example = values[0]) =>
  Type.Unsafe<Value>(Type.String({ enum: [...values], description, examples: [example] }))

export const SubAccountSummary = Type.Object(
  {
    _id: text('Sub-account identifier', 'sub_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('What people call it', 'Berlin agency'),
    email: text('How its contact person is reached', 'ops@berlin.example'),
    companyName: text('The company behind the sub-account', 'Berlin Agency GmbH'),
  },
  { title: 'SubAccountSummary' },
)

const Rate = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: MAX_RATE, description: 'How many verifications' }),
    seconds: Type.Integer({ minimum: 1, maximum: MAX_RATE_SECONDS, description: 'Within how many seconds it refills' }),
  },
  { title: 'Rate' },
)
const Quota = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: MAX_QUOTA, description: 'How many verifications' }),
    per: oneOf(QUOTA_PERIODS, 'A day or a month of UTC, or all time'),
  },
  { title: 'Quota' },
)

const Scopes = Type.Array(Type.String(), {
  maxItems: MAX_LISTED,
  description: 'What it may do; `items:*` stands for all that begins with `items:`',
})
const Addresses = Type.Array(Type.String(), {
  maxItems: MAX_LISTED,
  description: 'From where: CIDR blocks or single addresses',
})
const MaxLifetime = Type.Integer({
  minimum: 1,
  maximum: MAX_LIFETIME_SECONDS,
  description: 'No token works longer than this after its creation',
})

export const TokenPolicy = Type.Object(
  {
    scopes: Type.Optional(Scopes),
    addresses: Type.Optional(Addresses),
    rate: Type.Optional(Rate),
    quota: Type.Optional(Quota),
  },
  { title: 'TokenPolicy', description: 'What is absent is not restricted. The policy of the sub-account holds too' },
)
export const SubAccountPolicy = Type.Object(
  { ...TokenPolicy.properties, maxLifetimeSeconds: Type.Optional(MaxLifetime) },
  { title: 'SubAccountPolicy', description: 'A ceiling for all tokens; rate and quota are shared by all of them' },
)

/** In PATCH, where null clears a member, and one part of a rate or quota can be changed. */
const clearable = (schema: TSchema) => Type.Optional(Type.Union([schema, Type.Null()]))
export const TokenPolicyPatch = Type.Object(
  {
    scopes: clearable(Scopes),
    addresses: clearable(Addresses),
    rate: clearable(Type.Partial(Rate, { title: 'RatePatch' })),
    quota: clearable(Type.Partial(Quota, { title: 'QuotaPatch' })),
  },
  { title: 'TokenPolicyPatch' },
)
export const SubAccountPolicyPatch = Type.Object(
  { ...TokenPolicyPatch.properties, maxLifetimeSeconds: clearable(MaxLifetime) },
  { title: 'SubAccountPolicyPatch' },
)

/** As it is sent: an object type that may be null, for the serializer. */
const policyOrNull = ({ properties, description }: { properties: object; description?: string }) =>
  Type.Unsafe<Policy | null>({ type: ['object', 'null'], properties, description: `${description}; null for none` })
const metadataOrNull = Type.Unsafe<JsonObject | null>({
  type: ['object', 'null'],
  additionalProperties: true,
  description: 'A JSON object of your own, opaque to the service; null for none',
})

const policyInput = (policy: TObject) =>
  Type.Union([policy, Type.Null()], {
    description: 'What the token, or every token of the sub-account, may do; a merge patch in PATCH',
  })
const MetadataInput = Type.Union([Type.Object({}, { additionalProperties: true }), Type.Null()], {
  description: `A JSON object of your own, at most ${MAX_METADATA_BYTES} bytes as stored`,
})

/** What both tokens and sub-accounts take beyond the document. */
export const beyondDocument = (policy: TObject) => ({
  metadata: Type.Optional(MetadataInput),
  policy: Type.Optional(policyInput(policy)),
})
export const Scope = Type.Array(Type.String(), {
  description: 'The scopes needed, separated by spaces; repeated: one of these sets is enough',
})

const OWNERS = ['token', 'sub-account'] as const
const left = {
  left: Type.Integer({ description: 'What is left now' }),
  from: oneOf(OWNERS, 'Whose policy has it; of two, the one with less left'),
}
const limitOrNull = <Limit extends object>(limit: { properties: object; title?: string }) =>
  Type.Unsafe<(Limit & { left: number; from: (typeof OWNERS)[number] }) | null>({
    ...Type.Object({ ...limit.properties, ...left } as never),
    type: ['object', 'null'],
  })

export const Explanation = Type.Object(
  {
    accepted: Type.Boolean(),
    reason: orNull(text('As X-Latchkey-Reason would say it')),
    decidedBy: Type.Unsafe<(typeof OWNERS)[number] | null>({
      type: ['string', 'null'],
      enum: [...OWNERS, null],
      description: 'Whose policy refuses it',
    }),
    effective: Type.Object({
      scopes: Type.Unsafe<readonly string[] | null>({
        type: ['array', 'null'],
        items: { type: 'string' },
        description: 'Under both policies; null for every scope',
      }),
      rate: limitOrNull<{ limit: number; seconds: number }>(Rate),
      quota: limitOrNull<{ limit: number; per: string }>(Quota),
    }),
  },
  {
    title: 'Explanation',
    examples: [
      {
        accepted: false,
        reason: 'scope',
        decidedBy: 'sub-account',
        effective: { scopes: ['orders:read'], rate: { limit: 100, seconds: 60, left: 97, from: 'token' }, quota: null },
      },
    ],
  },
)
export type WireExplanation = Static<typeof Explanation>

const TokenDetails = Type.Object(
  {
    expiresAt: timeOrNull(
      'When the token itself expires; null for never. Its sub-account can end it sooner: see `effectiveStatus`',
    ),
    lastUsedAt: timeOrNull('Last accepted verification, to the minute; null for never'),
    usage: Type.Object(
      {
        day: count('In the last 24 hours'),
        week: count('In the last 7 days'),
        month: count('In the last 30 days'),
      },
      { description: 'Accepted verifications, written every 4 seconds; with the hour or the day that has begun' },
    ),
    version: count('Counts the changes; also the ETag'),
    formerCredentialUntil: timeOrNull('Until when a credential that was rotated out still works'),
    formerCredentialLastUsedAt: timeOrNull('When such a credential was last used, to the minute; null for never'),
    formerCredentialLastUsedFrom: orNull(text('The address that it was used from then', '203.0.113.7')),
    effectiveStatus: oneOf(EFFECTIVE_STATUSES, 'What verification would say now'),
    blockedBy: Type.Unsafe<'token' | 'expiry' | 'sub-account' | null>({
      type: ['string', 'null'],
      enum: ['token', 'expiry', 'sub-account', null],
      description: 'What keeps it from authenticating',
    }),
    credentialUnreadable: Type.Boolean({
      description: 'The stored credential was altered or damaged, and `token` is empty; rotating gives it a new one',
    }),
    metadata: metadataOrNull,
    tags: Type.Array(Type.String(), { description: 'Words of your own; lists can be filtered by them' }),
    policy: policyOrNull(TokenPolicy),
  },
  { title: 'TokenDetails', description: 'In reads with `include=details`, and in every answer to PATCH' },
)

export const Token = Type.Object(
  {
    _id: text('Token identifier', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('Unique within its sub-account', 'CI pipeline'),
    token: text(
      'The credential: keep it out of logs. Masked with `credentials=masked`, and for callers without the right to see it',
      'lk_tok_…',
    ),
    status: oneOf(STATUSES, 'Only an active token authenticates'),
    createdAt: time('Time of creation'),
    subAccount: SubAccountSummary,
    details: Type.Optional(TokenDetails),
  },
  { title: 'Token' },
)
export type WireToken = Static<typeof Token>

export const DeletedToken = Type.Object(
  { _id: text('The deleted token', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d') },
  { title: 'DeletedToken' },
)

export const SubAccount = Type.Object(
  {
    ...SubAccountSummary.properties,
    status: oneOf(SUB_ACCOUNT_STATUSES, 'While suspended, none of its tokens authenticates'),
    createdAt: time('Time of creation'),
    suspendedAt: timeOrNull('Since when it is suspended'),
    tokens: Type.Object({
      active: count('Tokens with status active'),
      inactive: count('Tokens with status inactive'),
    }),
    policy: policyOrNull(SubAccountPolicy),
    metadata: metadataOrNull,
  },
  { title: 'SubAccount' },
)
export type WireSubAccount = Static<typeof SubAccount>

const facts = (description: string, example: JsonObject) =>
  Type.Record(Type.String(), Type.Unsafe<Json>({}), { description, examples: [example] })
const POSITION = "Counts the account's entries; an opaque text for callers who see only some of them"
const HistorySubAccount = Type.Unsafe<{ _id: string; name: string } | null>({
  type: ['object', 'null'],
  properties: { _id: text('Sub-account identifier'), name: text('Its present name', 'Berlin agency') },
  required: ['_id', 'name'],
  description: 'The sub-account that was changed, or whose token was; null for neither',
})
export const HistoryEntry = Type.Object(
  {
    seq: Type.Unsafe<number | string>({ ...count(POSITION), type: ['integer', 'string'] }),
    at: time('When'),
    by: text(
      'An account key id, `jwt:` or `oidc:` and a subject, `leak:` and who has reported it, or `operator`',
      'key_019b2f0c5a3c8e1d2c3b4a5f6e7d',
    ),
    byName: orNull(text('The name of that account key then, or the e-mail address of the person', 'Console')),
    action: oneOf(ACTIONS, 'What was done', 'token.update'),
    subject: text('The id of what was changed', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    subjectName: orNull(text('What it was called then, after the change', 'CI pipeline')),
    subAccount: HistorySubAccount,
    from: facts('The fields that changed, as they were before', { status: 'active' }),
    to: facts('The same fields after the change', { status: 'inactive' }),
    requestId: orNull(text('The X-Request-Id of the change')),
    address: orNull(text('The address it came from')),
  },
  { title: 'HistoryEntry' },
)

/** For entries of earlier versions, which have no `byName` and `subjectName`. */
const Names = Type.Record(Type.String(), Type.String(), {
  description: 'The present names of the tokens, sub-accounts and account keys that the entries mention, by id',
  examples: [{ tok_019b2f0c5a3c8e1d2c3b4a5f6e7d: 'CI pipeline' }],
})

export const Overview = Type.Object(
  {
    account: Type.Object({
      _id: text('Account identifier', 'acc_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text('Account name', 'Acme'),
    }),
    at: time('The moment of which all this is true'),
    tokens: Type.Object({
      active: count('Tokens with status active'),
      inactive: count('Tokens with status inactive'),
      neverUsed: count('Tokens never used'),
      idle: count(`Tokens made and last used more than ${IDLE_DAYS} days ago, or never used`),
      expired: count('Status active, but expired'),
      suspended: count('Status active and not expired, but the sub-account is suspended'),
      expiringSoon: count(`Status active, and will expire within ${EXPIRING_DAYS} days`),
    }),
    expiringBefore: time('The end of those days'),
    subAccounts: Type.Object({
      total: count('All sub-accounts'),
      suspended: count('Suspended ones'),
      largest: Type.Array(SubAccount, { description: 'Those with the most tokens' }),
    }),
    busiest: Type.Array(
      Type.Object({
        _id: text('Token identifier', 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
        name: text('Its name', 'CI pipeline'),
        subAccount: SubAccountSummary,
        accepted: count('Accepted verifications of the last 7 days'),
      }),
      {
        description:
          'The tokens used most in the last 7 days. Every token with more than a 51st of the uses of one of these days is considered',
      },
    ),
    createdByWeek: Type.Array(
      Type.Object({ from: time('Monday, UTC'), before: time('The next'), count: count('Tokens') }),
      {
        description: `Tokens by time of creation: the last ${WEEKS} weeks, oldest first`,
      },
    ),
  },
  { title: 'Overview' },
)
export type WireOverview = Static<typeof Overview>

export function pageFields<Item extends ReturnType<typeof Type.Object>>(item: Item) {
  return {
    items: Type.Array(item),
    total: count('All matches on all pages, exactly'),
    page: count('The number of this page, from 1'),
    limit: Type.Integer({ description: 'How many items a page can hold', examples: [10] }),
    totalPages: count('0 where nothing matches'),
    hasNextPage: Type.Boolean(),
    hasPrevPage: Type.Boolean(),
  }
}

export const TokenPage = Type.Object(pageFields(Token), { title: 'TokenPage' })
export const SubAccountPage = Type.Object(pageFields(SubAccount), { title: 'SubAccountPage' })
export const HistoryPage = Type.Object({ ...pageFields(HistoryEntry), names: Names }, { title: 'HistoryPage' })
export type WireHistoryPage = Static<typeof HistoryPage>

export const TokenId = Type.Object({ id: Type.String({ description: 'The token id' }) })

export const PageParameters = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: 'From 1; 1 unless set' })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      default: DEFAULT_LIMIT,
      description: `Items per page, at most ${MAX_LIMIT}; ${DEFAULT_LIMIT} unless set`,
    }),
  ),
}
