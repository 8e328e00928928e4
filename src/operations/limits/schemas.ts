// Policies, and metadata: what tokens and sub-accounts have beyond the document.
import { type TObject, type TSchema, Type } from 'typebox'
import type { JsonObject } from '../../tokens/model/fields.ts'
import { MAX_METADATA_BYTES } from '../../tokens/model/update.ts'
import {
  MAX_LIFETIME_SECONDS,
  MAX_LISTED,
  MAX_QUOTA,
  MAX_RATE,
  MAX_RATE_SECONDS,
  type Policy,
  QUOTA_PERIODS,
} from '../../tokens/verify/policy.ts'
import { oneOf, orNull, text } from '../schemas.ts'

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
export const policyOrNull = ({ properties, description }: { properties: object; description?: string }) =>
  Type.Unsafe<Policy | null>({ type: ['object', 'null'], properties, description: `${description}; null for none` })
export const metadataOrNull = Type.Unsafe<JsonObject | null>({
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
