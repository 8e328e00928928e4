// Verifiers: processes that decide by what they remember, while they hold a lease. See docs/reference/verifier-protocol.md.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { notAllowed } from '../../tokens/model/permissions.ts'
import { operationsOf } from '../operation.ts'
import { PageParameters } from '../schemas.ts'
import * as answers from './answers.ts'
import { Lease, LeaseBody, Verifier, VerifierPage, VerifierVerdict } from './schemas.ts'

const BASE = '/api/v1/apiClient/verifier'

export const verifiers = operationsOf(answers, {
  leaseVerifier: {
    tag: 'Verifiers',
    right: 'introspect',
    method: 'POST',
    url: `${BASE}/lease`,
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
  },
  askVerdict: {
    tag: 'Verifiers',
    right: 'introspect',
    method: 'POST',
    url: `${BASE}/verify`,
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
  },
  listVerifiers: {
    tag: 'Verifiers',
    method: 'GET',
    url: BASE,
    summary: 'List the verifiers that hold a lease, newest first',
    description:
      'None for a key that sees only some sub-accounts. Those with a key for all accounts are for the operator.',
    querystring: Type.Object({ ...PageParameters }),
    data: VerifierPage,
    success: { message: 'Found 1 verifier(s)' },
    failures: { 400: [BAD_PAGE] },
  },
  evictVerifier: {
    tag: 'Verifiers',
    right: 'manageKeys',
    method: 'DELETE',
    url: `${BASE}/:id`,
    summary: 'Evict a verifier: it gets no further lease',
    description: 'It may decide by what it remembers until its lease has run out. To keep it out, revoke its key.',
    params: Type.Object({ id: Type.String({ description: 'The verifier id' }) }),
    data: Verifier,
    success: { message: 'Verifier evicted successfully' },
    failures: { 404: [reasonOf('verifier-not-found')] },
  },
})
