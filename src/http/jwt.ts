// Bearers that the platform's own identity provider signs: a JWT in place of an account key.
import { readFileSync, statSync } from 'node:fs'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { Failure, OperatorError } from '../tokens/errors.ts'
import type { Caller, Registry } from '../tokens/registry.ts'
import { brokenNameRule, type Timestamp } from '../tokens/token.ts'

export interface JwtSettings {
  /** A URL, or the path of a file. */
  readonly jwks: string
  readonly issuer: string
  readonly audience: string
  /** The claim that holds the account's id. */
  readonly accountClaim: string
}

/** Only signatures that this service could not have made itself. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const CLOCK_TOLERANCE_SECONDS = 5
const FETCH_TIMEOUT_MS = 2_000
const LOOKS_LIKE_JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/** Recognises the issuer's tokens and leaves every other bearer to the registry. */
export function jwtAuthenticator(
  settings: JwtSettings,
  registry: Registry,
  now: () => Timestamp,
): (presented: string) => Promise<Caller> {
  const keys = keysAt(settings.jwks)
  return async (presented) => {
    if (issuerOf(presented) !== settings.issuer) return registry.authenticate(presented)
    const claims = await verify(presented, keys, settings, now())
    const accountId = claims[settings.accountClaim]
    if (typeof accountId !== 'string') throw new Failure('token-invalid')
    return registry.callerFor(accountId, `jwt:${subjectOf(claims)}`)
  }
}

/** It is written into the history, as names are, and so held to their rules. */
function subjectOf({ sub = 'unnamed' }: JWTPayload): string {
  if (typeof sub === 'string' && sub !== '' && brokenNameRule(sub) === undefined) return sub
  throw new Failure('token-invalid')
}

/** Unverified: it only decides who is asked. */
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
    const { payload } = await jwtVerify(presented, keys, {
      issuer,
      audience,
      algorithms: ALGORITHMS,
      currentDate: new Date(now),
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp'],
    })
    return payload
  } catch (error) {
    if (error instanceof errors.JWTExpired) throw new Failure('token-expired')
    if (isKeyFault(error)) throw new Failure('unavailable', undefined, undefined, { cause: error })
    throw new Failure('token-invalid')
  }
}

/** The issuer's keys could not be had, so nothing can be decided. A key that is not among them is a decision. */
function isKeyFault(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true
  return ['ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID', 'ERR_JOSE_GENERIC'].includes(error.code)
}

function keysAt(place: string): JWTVerifyGetKey {
  try {
    return /^https?:\/\//.test(place) ? remoteKeys(place) : fileKeys(place)
  } catch (error) {
    throw new OperatorError(
      `LATCHKEY_JWT_JWKS must be the address of a key set or a file that holds one: ${(error as Error).message}`,
    )
  }
}

/** Fetched when a key is not known yet, so that a rotation is followed. */
function remoteKeys(url: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(url), { timeoutDuration: FETCH_TIMEOUT_MS, cooldownDuration: 1_000 })
}

/** Looked at each time, so that a key that was taken out of it opens nothing more; read when it is another one than before. */
function fileKeys(path: string): JWTVerifyGetKey {
  let known = readKeys(path)
  return async (header, token) => {
    // What cannot be had, or is no key set, throws: the former keys may be the very ones that were taken away.
    if (stateOf(path) !== known.state) known = readKeys(path)
    return known.find(header, token)
  }
}

function readKeys(path: string) {
  // In this order: what is written in between makes the next look find another state.
  const state = stateOf(path)
  return { state, find: createLocalJWKSet(JSON.parse(readFileSync(path, 'utf8'))) }
}

function stateOf(path: string): string {
  const { ino, size, mtimeMs } = statSync(path)
  return `${ino} ${size} ${mtimeMs}`
}
