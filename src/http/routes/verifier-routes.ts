// Verifiers: processes that decide by what they remember, while they hold a lease. See docs/reference/verifier-protocol.md.
import { Type } from 'typebox'
import { verdictToWire } from '../../operations/verification/document.ts'
import { verifierToWire } from '../../operations/verifiers/document.ts'
import { Failure, reasonOf } from '../../tokens/errors.ts'
import { LEASE_SECONDS, MOST_NEWS } from '../../tokens/model/lease.ts'
import {
  MOST_RECENT,
  MOST_REPORTED,
  MOST_REPORTS,
  MOST_USES,
  readLeaseCall,
  readQuestion,
} from '../../tokens/model/lease-fields.ts'
import { BAD_PAGE, readPageRequest } from '../../tokens/model/page.ts'
import { notAllowed } from '../../tokens/model/permissions.ts'
import { MAX_NAME_CHARACTERS } from '../../tokens/model/token.ts'
import type { Entry } from '../../tokens/verify/entry.ts'
import { REFUSED } from '../../tokens/verify/recent-verifications.ts'
import { limitHeaders } from '../protocol/policy-headers.ts'
import type { AccountRoute, ServerParts } from './route.ts'
import * as schemas from './schemas.ts'

const BASE = '/api/v1/apiClient/verifier'
const EXAMPLE_ID = 'vfr_019b2f0c5a3c8e1d2c3b4a5f6e7d'
const TAG = 'Verifiers'

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

const LeaseBody = Type.Object(
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

const Lease = Type.Object(
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

const VerifierVerdict = Type.Object(
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

const Verifier = Type.Object(
  {
    _id: text('Verifier identifier', EXAMPLE_ID),
    name: described<string | null>(
      nullable('string', { description: 'What people call it', examples: ['checkout-7'] }),
    ),
    since: schemas.time('When its lease began'),
    confirmedAt: schemas.time('Its last call'),
    version: described<string | null>(nullable('string', { description: 'Of its software', examples: ['0.3.0'] })),
  },
  { title: 'Verifier' },
)

const VerifierPage = Type.Object(schemas.pageFields(Verifier), { title: 'VerifierPage' })

export function verifierRoutes({ verifiers, registry, metrics, log }: ServerParts): readonly AccountRoute[] {
  const { verification } = registry
  const lease: AccountRoute = {
    tag: TAG,
    right: 'introspect',
    method: 'POST',
    url: `${BASE}/lease`,
    operationId: 'leaseVerifier',
    isQuestion: true,
    summary: 'Begin or prolong the lease of a verifier, and wait for what it has to forget',
    description:
      'Answered at once where something was changed, otherwise after two fifths of the term at most. For verifiers only: ' +
      'docs/reference/verifier-protocol.md has the rules that make it safe to remember a verdict.',
    body: LeaseBody,
    // Twice 2,000 tokens with their counts, and 1,000 uses.
    bodyLimitBytes: 512 * 1024,
    data: Lease,
    success: { message: 'The lease is held' },
    failures: {
      400: ['lease and position must be sent together'],
      403: [reasonOf('verifier-evicted'), notAllowed('hold a lease: that needs an account key').message],
      409: [reasonOf('too-many-verifiers')],
      410: [reasonOf('lease-lost')],
    },
    async answer(_registry, { caller, body, origin }) {
      const { lease, position, end, reported, dropped, ...fields } = readLeaseCall(body)
      const about = { lease, accountId: caller.accountId }
      if (dropped > 0) log.warn({ ...about, dropped }, 'parts of what a verifier has reported cannot be understood')
      metrics.countVerdicts(reported.verdicts)
      const noted = verification
        .noteReport(caller, reported)
        .catch((err: unknown) => log.warn({ ...about, err }, 'what a verifier has reported was lost'))
      const call = () => {
        if (lease === undefined || position === undefined) return verifiers.begin(caller, fields, origin)
        return end ? verifiers.end(caller, lease, position) : verifiers.renew(caller, lease, position)
      }
      try {
        return { data: { ...(await call()), takesUsage: true } }
      } catch (error) {
        const isLost = error instanceof Failure && (error.code === 'lease-lost' || error.code === 'verifier-evicted')
        if (isLost) log.warn({ ...about, code: error.code }, 'a verifier has lost its lease')
        throw error
      } finally {
        // Also of a call that is refused: the verifier waits until its report is noted.
        await noted
      }
    },
  }
  const ask: AccountRoute = {
    tag: TAG,
    right: 'introspect',
    method: 'POST',
    url: `${BASE}/verify`,
    operationId: 'askVerdict',
    isQuestion: true,
    summary: 'Verify a credential for a verifier, with what it may remember',
    description:
      'Credentials of other accounts are unknown. The address in the body counts: the caller is the one who is asked for entry.',
    body: Type.Object(
      {
        credential: Type.String(),
        scope: Type.Optional(
          Type.Union([Type.String(), Type.Array(Type.String())], {
            description: 'Scopes that are all needed, separated by spaces; an array of such alternatives',
          }),
        ),
        address: Type.Optional(Type.String({ description: 'Where the credential is used from' })),
      },
      { title: 'VerifierQuestion' },
    ),
    data: VerifierVerdict,
    success: { message: 'The verdict' },
    failures: { 400: ['credential is required', 'address must be an IP address'] },
    async answer(_registry, { caller, body }) {
      const { credential, access } = readQuestion(body)
      const { entry, ...decision } = await verification.verifyFor(caller, credential, access)
      metrics.countVerdict(decision.accepted ? 'accepted' : decision.reason)
      const tokenId = decision.token?.id
      const limited = 'left' in decision && { limitHeaders: limitHeaders(decision.left) }
      const data = { ...verdictToWire(decision), ...limited, ...(entry && { entry }) }
      return { data, ...(tokenId && { tokenId }) }
    },
  }
  const list: AccountRoute = {
    tag: TAG,
    method: 'GET',
    url: BASE,
    operationId: 'listVerifiers',
    summary: 'List the verifiers that hold a lease, newest first',
    description:
      'None for a key that sees only some sub-accounts. Those with a key for all accounts are for the operator.',
    querystring: Type.Object({ ...schemas.PageParameters }),
    data: VerifierPage,
    success: { message: 'Found 1 verifier(s)' },
    failures: { 400: [BAD_PAGE] },
    async answer(_registry, { caller, query }) {
      const page = await verifiers.list(caller, readPageRequest(query))
      return { message: `Found ${page.total} verifier(s)`, data: { ...page, items: page.items.map(verifierToWire) } }
    },
  }
  const evict: AccountRoute = {
    tag: TAG,
    right: 'manageKeys',
    method: 'DELETE',
    url: `${BASE}/:id`,
    operationId: 'evictVerifier',
    summary: 'Evict a verifier: it gets no further lease',
    description: 'It may decide by what it remembers until its lease has run out. To keep it out, revoke its key.',
    params: Type.Object({ id: Type.String({ description: 'The verifier id' }) }),
    data: Verifier,
    success: { message: 'Verifier evicted successfully' },
    failures: { 404: [reasonOf('verifier-not-found')] },
    async answer(_registry, { caller, params, origin }) {
      return { data: verifierToWire(await verifiers.evict(caller, params.id, origin)) }
    },
  }
  return [lease, ask, list, evict]
}
