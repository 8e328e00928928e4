// Writes docs/reference/errors.md from the tables of failures. A code without a line in ADVICE does not compile.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { codesOf, type FailureStatus, STATUSES } from '../src/http/protocol/failures.ts'
import { type FailureCode, reasonOf } from '../src/tokens/model/errors.ts'

type HttpCode = (typeof STATUSES)[FailureStatus]['code']

export const ERRORS_PAGE = join(import.meta.dirname, '..', 'docs', 'reference', 'errors.md')

/** What the caller can do about it. */
const ADVICE: Readonly<Record<FailureCode | HttpCode, string>> = {
  'invalid-request': 'Correct what `message` names; `error.details` has one entry per field',
  'duplicate-name': 'Choose another name, or rename the token that has it',
  'duplicate-credential': 'Import each credential once; the other token may belong to another account',
  'authentication-required': 'Send `Authorization: Bearer` with an account key, a JWT or, to verify, a credential',
  'token-expired': 'Use a new credential, account key, JWT or session; a token can be given a later `expiresAt`',
  'token-invalid': 'Check that the whole value was sent, to the right server, and that it was not rotated or revoked',
  'token-inactive': 'Enable the token, or resume its sub-account',
  forbidden: 'Read `message`. In a verification `X-Latchkey-Reason` says which policy refuses: `address` or `scope`',
  'sub-account-forbidden': 'Check the id of the sub-account, and which sub-accounts the key sees',
  'token-cannot-manage': 'Use an account key: the credential of a token is for verification only',
  'not-allowed': 'Use a key whose role may do this: [rights](../guides/policies.md#rights)',
  'not-found': 'Check the path against `/docs`',
  'account-not-found': 'Check the id of the account',
  'key-not-found': 'Check the id, and which sub-accounts the caller sees',
  'session-not-found': 'Check the id; the session may have ended',
  'webhook-not-found': 'Check the id of the webhook',
  'delivery-not-found': 'Check the id; only the last 500 deliveries of a webhook, and those that wait, are known',
  'too-many-webhooks': 'Delete a webhook, or have one get more kinds of events',
  'token-not-found':
    'Check the id; tokens that were deleted, of other accounts or of sub-accounts that the key does not see are not found',
  'bulk-not-found': 'Check the id; operations of callers who see other sub-accounts are not found',
  'bulk-total-differs': 'Look at what the filter matches now (`dryRun`), and decide again; nothing was changed',
  'bulk-not-undoable':
    'Read `message`: what was deleted cannot be restored, and nothing is undone twice or after 30 days',
  'too-many-bulk': 'Wait until one has ended',
  'too-many-verifiers':
    'Close verifiers that are no longer needed, or wait until the leases of those that are gone have run out',
  'verifier-not-found': 'Check the id; the lease may have run out',
  'verifier-evicted': 'Ask the service for each verification; an operator decided so',
  gone: 'Read `message`',
  'lease-lost': 'Forget all verdicts that were remembered, and begin a new lease',
  'method-not-allowed': 'Use a method that `Allow` names',
  'request-timeout': 'Send the whole request sooner, on a new connection',
  conflict: 'Read `message`',
  'credential-not-stored': 'Rotate the token; the new credential is in the answer',
  'idempotency-conflict': 'Send a new `Idempotency-Key`, or the request that it was first used with',
  'precondition-failed': 'Read the file again, without the condition',
  'version-mismatch': 'Read the token, decide again, and send its new `ETag` in `If-Match`',
  'body-too-large': 'Send less',
  'unsupported-media-type': 'Send JSON in UTF-8, not compressed, with the media type that `message` names',
  'range-not-satisfiable': 'Ask for a range within the file',
  'rate-limited':
    'Wait for `Retry-After`. In a verification `X-Latchkey-Reason` says which limit of the token is used up: `rate` or `quota`',
  'headers-too-large': 'Send fewer or shorter headers',
  'internal-error': 'A bug: give the operator the `X-Request-Id`, which finds the cause in the log',
  unavailable: 'Try again after `Retry-After`; nothing was changed',
  'store-full': 'The operator makes room on the disk of the store; then try again',
  'master-key-superseded': 'Try again; if it stays, the operator restarts the instance with the new key',
  'revocations-unknown': 'The operator runs `latchkey doctor`; until then all access is refused',
  'outcome-unknown': 'Read the token; send the change again if it is not there',
}

const HEAD = `# Errors

Every answer that is not a success names its reason in the header \`X-Latchkey-Error\`. Codes are stable
([compatibility](../operate/upgrade.md#what-stays-from-version-to-version)); messages may be reworded, and some say more than the text below. A 503 of the API has \`Retry-After\`.

| code | status | message | what to do |
|---|---|---|---|
`

const FOOT = `
The [client](../../client/README.md) adds three codes, with status 0 where there was no answer: \`unreachable\`, \`timeout\`, and
\`unexpected-answer\` from something that is not Latchkey, such as a proxy. After one of them a change may have been made.

This page is written by \`npm run generate-errors\`.
`

export function printErrors(): string {
  const statuses = [...Object.keys(STATUSES).map(Number), 401].sort((a, b) => a - b) as (FailureStatus | 401)[]
  const rows = statuses.flatMap((status) =>
    codesOf(status).map((code) => {
      const message = status === 401 || isFailureCode(code) ? reasonOf(code as FailureCode) : STATUSES[status].category
      return `| \`${code}\` | ${status} | ${message} | ${ADVICE[code as FailureCode | HttpCode]} |\n`
    }),
  )
  return HEAD + rows.join('') + FOOT
}

/** `reasonOf` has no text for the codes of HTTP alone. */
function isFailureCode(code: string): code is FailureCode {
  return reasonOf(code as FailureCode) !== undefined
}

if (import.meta.main) writeFileSync(ERRORS_PAGE, printErrors())
