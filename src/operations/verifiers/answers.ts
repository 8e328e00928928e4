// What verifiers call, and what their account does with them. See docs/reference/verifier-protocol.md.
import { Failure } from '../../tokens/model/errors.ts'
import { readPageRequest } from '../../tokens/model/page.ts'
import { readLeaseCall, readQuestion } from '../../tokens/verifiers/lease-fields.ts'
import { type Input, listed, type RunningService, type Service } from '../operation.ts'
import { verdictToWire } from '../verification/document.ts'
import { limitHeaders } from '../verification/limit-headers.ts'
import { verifierToWire } from './document.ts'

export async function leaseVerifier(service: RunningService, { caller, body, origin }: Input) {
  const { registry, verifiers, metrics, log } = service
  const { lease, position, end, reported, dropped, ...fields } = readLeaseCall(body)
  const about = { lease, accountId: caller.accountId }
  if (dropped > 0) log.warn({ ...about, dropped }, 'parts of what a verifier has reported cannot be understood')
  metrics.countVerdicts(reported.verdicts)
  const noted = registry.verification
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
}

export async function askVerdict({ registry, metrics }: RunningService, { caller, body }: Input) {
  const { credential, access } = readQuestion(body)
  const { entry, ...decision } = await registry.verification.verifyFor(caller, credential, access)
  metrics.countVerdicts({ [decision.accepted ? 'accepted' : decision.reason]: 1 })
  const tokenId = decision.token?.id
  const limited = 'left' in decision && { limitHeaders: limitHeaders(decision.left) }
  const data = { ...verdictToWire(decision), ...limited, ...(entry && { entry }) }
  return { data, ...(tokenId && { tokenId }) }
}

export async function listVerifiers({ verifiers }: Service, { caller, query }: Input) {
  return listed(await verifiers.list(caller, readPageRequest(query)), 'verifier(s)', verifierToWire)
}

export async function evictVerifier({ verifiers }: Service, { caller, params, origin }: Input) {
  return { data: verifierToWire(await verifiers.evict(caller, params.id, origin)) }
}
