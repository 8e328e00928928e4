// The people who are signed in to the console, and the grants that let them in.
import { Failure } from '../../tokens/model/errors.ts'
import { readPageRequest } from '../../tokens/model/page.ts'
import { isObject } from '../../tokens/verify/is-object.ts'
import { type Claims, type Input, listed, type RunningService } from '../operation.ts'
import { grantToWire, sessionToWire } from './document.ts'

export const NOT_CLAIMS = 'claims must be a JSON object'

export async function listSessions({ registry, people }: RunningService, { caller, query }: Input) {
  const page = await registry.sessions.list(caller, readPageRequest(query), people.rightsIn)
  return listed(page, 'session(s)', (session) => sessionToWire(session, people.rightsIn(session, caller.accountId)))
}

export async function revokeSession({ registry, people }: RunningService, { caller, params, origin }: Input) {
  const ended = await registry.sessions.revoke(caller, params.id, origin, people.rightsIn)
  return { data: sessionToWire(ended, people.rightsIn(ended, caller.accountId)) }
}

export async function listGrants({ people }: RunningService, { caller }: Input) {
  const grants = people.grantsOf(caller.accountId).map(grantToWire)
  return { message: `Found ${grants.length} grant(s)`, data: { grants } }
}

export async function testGrants({ people }: RunningService, { caller, body }: Input) {
  const sent = readClaims(body)
  const counted = people.countedClaims(sent)
  const tested = people.testClaims(counted, caller.accountId)
  const named = new Set(tested.map(({ grant }) => grant.claim))
  const data = {
    isAdmitted: tested.some(({ decides }) => decides),
    ignored: [...named].filter((claim) => Object.hasOwn(sent, claim) && !Object.hasOwn(counted, claim)),
    grants: tested.map(({ grant, matches, decides }) => ({ ...grantToWire(grant), matches, decides })),
  }
  return { data }
}

function readClaims(body: unknown): Claims {
  const { claims }: { readonly claims?: unknown } = isObject(body) ? body : {}
  if (isObject(claims)) return claims as Claims
  throw new Failure('invalid-request', NOT_CLAIMS, [{ field: 'claims', message: NOT_CLAIMS }])
}
