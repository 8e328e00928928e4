// JWTs of the platform's own identity provider, accepted in place of an account key.
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { Failure, failure, OperatorError } from '../../tokens/model/errors.ts'
import { BY_JWT, type Caller, EVERYTHING, type Permissions } from '../../tokens/model/permissions.ts'
import { toDate } from '../../tokens/model/times.ts'
import { brokenNameRule, type Timestamp } from '../../tokens/model/token.ts'
import type { Registry } from '../../tokens/service/registry.ts'
import { type GrantsFile, grantedTo, trustedClaims } from './grants.ts'
import { watchedFile } from './watched-file.ts'

interface JwtSettings {
  /** A URL, or the path of a file. */
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  /** The claim that holds the account's id. */
  readonly accountClaim: string
  /** For the keys at a URL. */
  readonly fetch: typeof globalThis.fetch
}

/** The permissions that the grants give for an account; everything if no grants file is configured. */
type PermissionsFor = (claims: JWTPayload, accountId: string) => Permissions | undefined

/** Asymmetric signatures only: with a shared secret, everyone who can verify JWTs can also sign them. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 5
const FETCH_TIMEOUT_MS = 2_000
/**
 * The `typ` values of access tokens, in lower case (RFC 8725, 3.11; RFC 9068). The issuer signs JWTs for other purposes
 * (`logout+jwt`, `dpop+jwt`) with the same keys.
 */
const ACCESS_TOKEN_TYPES = ['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Verifies the issuer's JWTs; every other bearer is authenticated by the registry. */
export function jwtAuthenticator(
  settings: JwtSettings,
  registry: Registry,
  now: () => Timestamp,
  { grants, trustsEmail }: { readonly grants: GrantsFile | undefined; readonly trustsEmail: boolean },
): (presented: string) => Promise<Caller> {
  const keys = keysAt(settings)
  const permissionsFor = grantedBy(grants, trustsEmail)
  return async (presented) => {
    if (issuerOf(presented) !== settings.issuer) return registry.authenticate(presented)
    const claims = await verify(presented, keys, settings, now())
    const accountId = claims[settings.accountClaim]
    if (typeof accountId !== 'string') throw new Failure('token-invalid')
    const permissions = permissionsFor(claims, accountId)
    if (permissions === undefined) throw failure('token-invalid', 'no grant matches')
    const endsAt = toDate((claims.exp ?? 0) * 1000).getTime()
    return registry.admit({ accountId, by: `${BY_JWT}${subjectOf(claims)}`, permissions, endsAt })
  }
}

function grantedBy(grants: GrantsFile | undefined, trustsEmail: boolean): PermissionsFor {
  if (grants === undefined) return () => EVERYTHING
  return (claims, accountId) => grantedTo(trustedClaims(claims, trustsEmail), grants.read()).get(accountId)
}

/** The subject is stored in the history, so it must obey the rules for names. */
function subjectOf({ sub = 'unnamed' }: JWTPayload): string {
  if (typeof sub === 'string' && sub !== '' && brokenNameRule(sub) === undefined) return sub
  throw new Failure('token-invalid')
}

/** Not verified yet: only decides how the bearer is verified. */
function issuerOf(presented: string): string | undefined {
  if (!LOOKS_LIKE_JWT.test(presented)) return undefined
  try {
    return decodeJwt(presented).iss
  } catch {
    return undefined
  }
}

async function verify(
  presented: string,
  keys: JWTVerifyGetKey,
  { issuer, audience }: JwtSettings,
  now: Timestamp,
): Promise<JWTPayload> {
  try {
    const { payload, protectedHeader } = await jwtVerify(presented, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp'],
    })
    if (!mayBeAccessToken(protectedHeader)) throw new Failure('token-invalid')
    return payload
  } catch (error) {
    if (error instanceof Failure) throw error
    if (error instanceof errors.JWTExpired) throw new Failure('token-expired')
    if (isKeyFault(error)) throw failure('unavailable', error)
    throw new Failure('token-invalid')
  }
}

/** `typ` can be any JSON value, whatever the library's types say. */
function mayBeAccessToken({ typ }: { readonly typ?: unknown }): boolean {
  return typ === undefined || (typeof typ === 'string' && ACCESS_TOKEN_TYPES.includes(typ.toLowerCase()))
}

/** The issuer's keys cannot be read, so the JWT can be neither accepted nor refused. An unknown key means refused. */
function isKeyFault(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return ['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'].includes(error.code)
}

function keysAt({ jwks: location, fetch }: JwtSettings): JWTVerifyGetKey {
  try {
    return /^https?:\/\//.test(location) ? remoteKeys(location, fetch) : fileKeys(location)
  } catch (error) {
    throw new OperatorError(
      `LATCHKEY_JWT_JWKS must be the address of a key set or a file that holds one: ${(error as Error).message}`,
    )
  }
}

/** Fetches the key set again when a key id is unknown, such as after a rotation. */
function remoteKeys(url: string, fetch: JwtSettings['fetch']): JWTVerifyGetKey {
  const options = { timeoutDuration: FETCH_TIMEOUT_MS, cooldownDuration: 1_000, [customFetch]: fetch }
  return createRemoteJWKSet(new URL(url), options)
}

/** A removed key is refused at once. */
function fileKeys(path: string): JWTVerifyGetKey {
  const find = watchedFile(path, (text) => createLocalJWKSet(JSON.parse(text)))
  return async (header, token) => find()(header, token)
}
