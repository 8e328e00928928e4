// What requests about tokens carry: parameters, headers and the fields of bodies.
import { Type } from 'typebox'
import { MAX_TAG_CHARACTERS, MAX_TAGS } from '../../tokens/model/fields.ts'
import { MAX_DAYS, SORTS } from '../../tokens/model/page.ts'
import { MAX_NAME_CHARACTERS, STATUSES } from '../../tokens/model/token.ts'
import { EFFECTIVE_STATUSES } from '../../tokens/verify/verdict.ts'
import { beyondDocument, TokenPolicy } from '../limits/schemas.ts'
import { etag, ifMatch } from '../schemas.ts'

const SEARCH = 'Part of the name, in any letter case'

export const Credentials = {
  credentials: Type.Optional(
    Type.String({ enum: ['masked'], description: 'Shows only the last four characters of each credential' }),
  ),
}

export const Include = {
  include: Type.Optional(Type.String({ enum: ['details'], description: 'Adds `details` to each token' })),
  ...Credentials,
}

export const Filters = {
  status: Type.Optional(Type.String({ enum: [...STATUSES], description: 'Only tokens with this status' })),
  search: Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS, description: SEARCH })),
}

const from = (what: string) =>
  Type.Optional(Type.String({ format: 'date-time', description: `${what} at this time or later` }))
const before = (what: string) =>
  Type.Optional(Type.String({ format: 'date-time', description: `${what} before this time` }))

const days = (description: string) => Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_DAYS, description }))

export const ExtraFilters = {
  tag: Type.Optional(
    Type.Array(Type.String({ maxLength: MAX_TAG_CHARACTERS }), {
      description: 'Only tokens with this tag; repeated: with all of them',
    }),
  ),
  credentialEnd: Type.Optional(
    Type.String({
      minLength: 4,
      maxLength: 4,
      description: 'Only tokens whose credential ends with these four characters, as they are written',
    }),
  ),
  used: Type.Optional(Type.String({ enum: ['never'], description: 'Only tokens never used' })),
  idleDays: days('Only tokens made at least so many days ago, and not used since'),
  suspendedDays: days('Only tokens of sub-accounts that have been suspended for so many days'),
  createdFrom: from('Only tokens made'),
  createdBefore: before('Only tokens made'),
  expiresFrom: from('Only tokens that expire'),
  expiresBefore: before('Only tokens that expire'),
  effectiveStatus: Type.Optional(
    Type.String({
      enum: [...EFFECTIVE_STATUSES],
      description: 'Only tokens of which verification would say this now; not together with `status`',
    }),
  ),
}

export const Order = {
  sort: Type.Optional(
    Type.String({
      enum: SORTS,
      default: '-createdAt',
      description:
        'The order; with a minus in front, descending. Names in any letter case; equal values by id. Tokens that were never used, or never ' +
        'expire, come last in both directions. By lastUsedAt at most 100000 tokens can match. Not for CSV, which has the newest first',
    }),
  ),
}

export const Name = Type.String({
  minLength: 1,
  maxLength: MAX_NAME_CHARACTERS,
  description: `Unique within its sub-account, at most ${MAX_NAME_CHARACTERS} characters`,
  examples: ['CI pipeline'],
})
export const Status = Type.String({
  enum: [...STATUSES],
  description: '`inactive` disables the token at once without deleting it; `active` enables it again',
  examples: ['inactive'],
})

const ExpiresAt = Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
  description: 'When it stops authenticating, with a time zone; never if null or not sent',
})

const Tags = Type.Union(
  [Type.Array(Type.String({ maxLength: MAX_TAG_CHARACTERS }), { maxItems: MAX_TAGS }), Type.Null()],
  {
    description: `At most ${MAX_TAGS} words of your own, which lists can be filtered by`,
  },
)

/** What POST and PATCH take, and PUT does not. */
export const BeyondDocument = {
  expiresAt: Type.Optional(ExpiresAt),
  tags: Type.Optional(Tags),
  ...beyondDocument(TokenPolicy),
}

export const IfMatch = ifMatch('An ETag: go ahead only if the token is still at it')
export const ETAG = etag("The token's version, for `If-Match`")
