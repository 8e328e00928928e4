// What verifiers send and get, and verifiers as they are shown.
import { Type } from 'typebox'
import { MAX_NAME_CHARACTERS } from '../../tokens/model/token.ts'
import { LEASE_SECONDS, MOST_NEWS } from '../../tokens/verifiers/lease.ts'
import { MOST_RECENT, MOST_REPORTED, MOST_REPORTS, MOST_USES } from '../../tokens/verifiers/lease-fields.ts'
import type { Entry } from '../../tokens/verify/entry.ts'
import { REFUSED } from '../../tokens/verify/recent-verifications.ts'
import { pageFields, time } from '../schemas.ts'

const EXAMPLE_ID = 'vfr_019b2f0c5a3c8e1d2c3b4a5f6e7d'

const text = (description: string, example: string) => Type.String({ description, examples: [example] })

/** Of any JSON: described, and serialized as it is. */
const described = <Value>(schema: object) => Type.Unsafe<Value>(schema)

const nullable = (type: string, more: object = {}) => ({ type: [type, 'null'], ...more })

const Counts = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Integer({ minimum: 0 }), { description }))

const UsageReport = Type.Object(
  {
    number: Type.Integer({ minimum: 1, description: 'What is sent again under the same one is not added again' }),
    tokens: Type.Record(Type.String(), Type.Record(Type.String(), Type.Integer({ minimum: 0 })), {
      description: `By token, how often it was decided so, by \`accepted\` or the reason; at most ${MOST_REPORTED} tokens`,
    }),
  },
  { title: 'VerifierReport' },
)

const Verification = Type.Object(
  {
    reason: described<string | null>(nullable('string', { enum: [...REFUSED, null], description: 'Null: accepted' })),
    address: described<string | null>(nullable('string')),
    agoMs: Type.Integer({ minimum: 0 }),
    formerUntil: Type.Optional(
      Type.Integer({
        description: 'The last use of a former credential, beside the verification: `formerUntil` of the entry',
      }),
    ),
  },
  { title: 'ReportedVerification' },
)

const Usage = Type.Object(
  {
    source: Type.String({ description: 'Of the process: random' }),
    reports: Type.Array(UsageReport, { maxItems: MOST_REPORTS, description: 'Those that are not answered' }),
    recent: Type.Optional(
      Type.Record(Type.String(), Type.Array(Verification), {
        description: `By token, its last verifications, at most ${MOST_RECENT} together; those that are sent again change nothing`,
      }),
    ),
  },
  { title: 'VerifierUsage' },
)

export const LeaseBody = Type.Object(
  {
    lease: Type.Optional(Type.String({ description: 'The lease to prolong; without it, another one begins' })),
    position: Type.Optional(
      Type.String({ description: 'Of the last answer. All that was changed up to there is forgotten, it says' }),
    ),
    name: Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'What people call the verifier' })),
    version: Type.Optional(Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Of its software' })),
    leaseSeconds: Type.Optional(
      Type.Integer({
        minimum: LEASE_SECONDS.least,
        maximum: LEASE_SECONDS.most,
        default: LEASE_SECONDS.usual,
        description: 'The term of a lease that begins',
      }),
    ),
    end: Type.Optional(
      Type.Boolean({
        description: 'It has forgotten everything and needs the lease no longer: no change waits for it',
      }),
    ),
    uses: Counts(`By token, how many milliseconds ago it was used last; at most ${MOST_USES}`),
    usage: Type.Optional(Usage),
    verdicts: Counts('How often it has decided so since its last call that was answered, by `accepted` or the reason'),
  },
  { title: 'LeaseCall' },
)

export const Lease = Type.Object(
  {
    lease: text('The lease', EXAMPLE_ID),
    position: text('To be sent with the next call', 'AhK3…'),
    termMs: Type.Integer({ description: 'How long it may decide, from the sending of the call', examples: [10_000] }),
    takesUsage: Type.Boolean({ description: 'Whether `usage` may be sent; older versions refuse it' }),
    forget: described<'all' | readonly object[]>({
      anyOf: [
        { type: 'string', enum: ['all'] },
        { type: 'array', maxItems: MOST_NEWS, items: { type: 'object', additionalProperties: { type: 'string' } } },
      ],
      description: 'What was changed: everything, or `{tokenId}`, `{subAccountId}` or `{accountId}` each',
      examples: [[{ tokenId: 'tok_019b2f0c5a3c8e1d2c3b4a5f6e7d' }]],
    }),
  },
  { title: 'Lease' },
)

const Texts = { items: { type: 'string' } }

const EntrySchema = Type.Object(
  {
    tokenId: Type.String(),
    subAccountId: Type.String(),
    accountId: Type.String(),
    version: Type.Integer(),
    refused: described<Entry['refused']>(nullable('string', { enum: ['inactive', 'expired', 'suspended', null] })),
    endsInMs: described<number | null>(
      nullable('integer', { description: 'How long it holds by itself; null: always' }),
    ),
    policies: described<Entry['policies']>({
      type: 'array',
      items: nullable('object', {
        properties: { scopes: { type: 'array', ...Texts }, addresses: { type: 'array', ...Texts } },
      }),
      description: 'The one of the token, and the one of its sub-account; null restricts nothing',
    }),
    formerUntil: Type.Optional(Type.Integer({ description: 'Of a former credential, for reports of its use' })),
  },
  {
    title: 'RememberedVerdict',
    description: 'What may be remembered; absent where the service must be asked each time',
  },
)

export const VerifierVerdict = Type.Object(
  {
    accepted: Type.Boolean(),
    reason: Type.Optional(Type.String({ description: 'Why it is refused, as in `X-Latchkey-Reason`' })),
    retryAfterSeconds: Type.Optional(Type.Integer()),
    tokenId: Type.Optional(Type.String()),
    subAccountId: Type.Optional(Type.String()),
    accountId: Type.Optional(Type.String()),
    version: Type.Optional(Type.Integer()),
    scopes: Type.Optional(
      described<readonly string[] | null>(nullable('array', { ...Texts, description: 'Null: all' })),
    ),
    left: Type.Optional(
      Type.Array(
        Type.Object({
          of: Type.String(),
          limit: Type.Integer(),
          left: Type.Integer(),
          resetSeconds: described<number | null>(nullable('integer')),
        }),
        { description: 'What is left of rates and quotas' },
      ),
    ),
    limitHeaders: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description:
          'Where it has a rate or quota: `RateLimit-Policy` and `RateLimit`, as `/api/v1/verify` would send them',
      }),
    ),
    entry: Type.Optional(EntrySchema),
  },
  { title: 'VerifierVerdict' },
)

export const Verifier = Type.Object(
  {
    _id: text('Verifier identifier', EXAMPLE_ID),
    name: described<string | null>(
      nullable('string', { description: 'What people call it', examples: ['checkout-7'] }),
    ),
    since: time('When its lease began'),
    confirmedAt: time('Its last call'),
    version: described<string | null>(nullable('string', { description: 'Of its software', examples: ['0.3.0'] })),
  },
  { title: 'Verifier' },
)

export const VerifierPage = Type.Object(pageFields(Verifier), { title: 'VerifierPage' })
