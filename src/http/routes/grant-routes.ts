// The grants by which people enter an account: an owner reads them, and tests what claims come to.
import { Type } from 'typebox'
import { Failure } from '../../tokens/errors.ts'
import { isObject } from '../../tokens/verify/is-object.ts'
import { type Claims, type Grant, testClaims } from '../access/grants.ts'
import * as schemas from './access-schemas.ts'
import type { AccountRoute, ServerParts } from './route.ts'

const BASE = '/api/v1/apiClient/grant'
const NOT_CLAIMS = 'claims must be a JSON object'

const shared = { tag: 'Sessions', right: 'seeGrants' } as const

type SignIn = ServerParts['signIn']

const listGrants = (signIn: SignIn): AccountRoute => ({
  ...shared,
  method: 'GET',
  url: BASE,
  operationId: 'listGrants',
  summary: 'List the grants by which people enter this account',
  data: schemas.Grants,
  success: { message: 'Found 1 grant(s)' },
  failures: {},
  async answer(_, { caller }) {
    const own = (signIn?.grants() ?? []).filter(({ account }) => account === caller.accountId)
    const data: schemas.WireGrants = { grants: own.map(grantToWire) }
    return { message: `Found ${own.length} grant(s)`, data }
  },
})

const testGrants = (signIn: SignIn): AccountRoute => ({
  ...shared,
  method: 'POST',
  url: `${BASE}/test`,
  operationId: 'testGrants',
  summary: 'Test which grants match the claims of a person',
  description: 'Decided as at sign-in, by the grants as they are now. Changes nothing, and nobody is signed in.',
  body: Type.Object(
    { claims: Type.Object({}, { additionalProperties: true, description: 'As the identity provider says them' }) },
    { title: 'ClaimsTest' },
  ),
  data: schemas.TestedClaims,
  success: { message: 'Claims tested successfully' },
  failures: { 400: [NOT_CLAIMS] },
  async answer(_, { caller, body }) {
    const sent = readClaims(body)
    // Where nobody can sign in, there are no grants.
    const counted = signIn?.provider.countedClaims(sent) ?? {}
    const tested = testClaims(counted, signIn?.grants() ?? [], caller.accountId)
    const named = new Set(tested.map(({ grant }) => grant.claim))
    const data: schemas.WireTestedClaims = {
      isAdmitted: tested.some(({ decides }) => decides),
      ignored: [...named].filter((claim) => Object.hasOwn(sent, claim) && !Object.hasOwn(counted, claim)),
      grants: tested.map(({ grant, ...result }) => ({ ...grantToWire(grant), ...result })),
    }
    return { data }
  },
})

export const grantRoutes = ({ signIn }: ServerParts): readonly AccountRoute[] => [
  listGrants(signIn),
  testGrants(signIn),
]

function readClaims(body: unknown): Claims {
  const { claims }: { readonly claims?: unknown } = isObject(body) ? body : {}
  if (!isObject(claims)) {
    throw new Failure('invalid-request', NOT_CLAIMS, [{ field: 'claims', message: NOT_CLAIMS }])
  }
  return claims as Claims
}

const grantToWire = ({ claim, value, permissions }: Grant) => ({ claim, value, ...permissions })
