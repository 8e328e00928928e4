// Requests of people who are signed in to the console: their cookies, from where such a request may come, and who is asking.
import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Claims, People } from '../../operations/operation.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { Caller, Permissions } from '../../tokens/model/permissions.ts'
import type { Timestamp } from '../../tokens/model/token.ts'
import type { StoredSession } from '../../tokens/people/session.ts'
import { type Person, personId, type RightsIn } from '../../tokens/people/sessions.ts'
import type { Registry } from '../../tokens/service/registry.ts'
import { HttpFailure } from '../protocol/failures.ts'
import { type Grant, grantedTo, testClaims } from './grants.ts'

export const CALLBACK = '/auth/callback'
export const CONSOLE = '/console/'
const API = '/api/v1/apiClient/'

/** The console says which account it shows: another tab may have chosen another one since. */
const SHOWN_ACCOUNT = 'x-latchkey-account'

const LOGIN_MINUTES = 10
const MAX_RETURN_CHARACTERS = 1_500

export type RefusalKind = 'unreachable' | 'misconfigured' | 'grants' | 'denied' | 'invalid'

/** The message is for the log. */
export class SignInRefused extends Error {
  readonly kind: RefusalKind

  constructor(kind: RefusalKind, reason: string) {
    super(reason)
    this.kind = kind
  }
}

/** What ties the provider's answer to the sign-in that this browser has begun. */
export interface LoginSecrets {
  readonly state: string
  readonly nonce: string
  /** Of PKCE; leaves this service only for the provider's token endpoint. */
  readonly verifier: string
}

/** All that asks the provider rejects with SignInRefused. */
export interface IdentityProvider {
  /** Where the person signs in. */
  begin(secrets: LoginSecrets): Promise<URL>
  /** `query` is that of the callback, as the browser brought it. */
  finish(query: string, secrets: LoginSecrets): Promise<Person>
  /** Those of the claims that grants are matched with. */
  countedClaims(claims: Claims): Claims
  /** Where the person signs out; undefined if the provider has no such address. */
  endUrl(returnTo: string): Promise<string | undefined>
}

export interface SignIn {
  readonly provider: IdentityProvider
  readonly grants: () => readonly Grant[]
  /** The origin at which browsers reach this service. */
  readonly publicUrl: string
}

export interface Cookie {
  readonly name: string
  readonly attributes: string
}

/** `__Host-`: the browser takes the cookie over HTTPS only, and from no other host of the domain. */
function cookieOf(publicUrl: string, name: string, sameSite: 'Strict' | 'Lax'): Cookie {
  const isSecure = publicUrl.startsWith('https:')
  const attributes = `Path=/; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
  return { name: isSecure ? `__Host-${name}` : name, attributes }
}

/** Strict: not sent with cross-site requests. The console is a static page, and sends it with its own requests. */
export const sessionCookie = (publicUrl: string) => cookieOf(publicUrl, 'latchkey-session', 'Strict')
/** Lax: must be sent with the provider's redirect, which is a cross-site navigation. */
export const loginCookie = (publicUrl: string) => cookieOf(publicUrl, 'latchkey-login', 'Lax')

/** For as long as the browser runs, unless `maxAgeSeconds` is given: the store decides when a session ends. */
export function setCookie({ name, attributes }: Cookie, value: string, maxAgeSeconds?: number): string {
  return `${name}=${value}; ${attributes}${maxAgeSeconds === undefined ? '' : `; Max-Age=${maxAgeSeconds}`}`
}

export const clearCookie = (cookie: Cookie) => setCookie(cookie, '', 0)

/** Undefined also for a cookie that is sent twice: one of the two is somebody else's. */
export function readCookie({ headers }: FastifyRequest, { name }: Cookie): string | undefined {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim())
  const [found, ...others] = pairs.filter((pair) => pair.startsWith(`${name}=`))
  return others.length > 0 ? undefined : found?.slice(name.length + 1) || undefined
}

const SAFE = ['GET', 'HEAD']

/**
 * False for requests that a page of another origin has caused. A browser says where a request comes from, unless it is an old
 * one or the service is reached over plain HTTP: changes then need the origin, and to reads of other sites it sends no Strict
 * cookie.
 */
export function isFromOwnOrigin({ method, headers }: FastifyRequest, publicUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  const isSafe = SAFE.includes(method)
  const isOwnSite = site === undefined || site === 'same-origin' || (isSafe && site === 'none')
  return isOwnSite && (origin === publicUrl || (isSafe && origin === undefined))
}

export function requireOwnOrigin(request: FastifyRequest, publicUrl: string): void {
  if (isFromOwnOrigin(request, publicUrl)) return
  throw new HttpFailure(
    403,
    `The session cookie is accepted only from ${publicUrl}; other programs send an account key`,
  )
}

export function grantedIn(
  { claims }: Pick<StoredSession, 'claims'>,
  { grants }: SignIn,
): ReadonlyMap<string, Permissions> {
  return grantedTo(JSON.parse(claims) as Claims, grants())
}

/** Where nobody can sign in, nobody has any. */
export const rightsOfPeople =
  (signIn: SignIn | undefined): RightsIn =>
  (session, accountId) =>
    signIn && grantedIn(session, signIn).get(accountId)

/** Where nobody can sign in, there are no grants. */
export function peopleOf(signIn: SignIn | undefined): People {
  const grants = () => signIn?.grants() ?? []
  return {
    rightsIn: rightsOfPeople(signIn),
    grantsOf: (accountId) => grants().filter(({ account }) => account === accountId),
    countedClaims: (sent) => signIn?.provider.countedClaims(sent) ?? {},
    testClaims: (counted, accountId) => testClaims(counted, grants(), accountId),
  }
}

/** Who asks: a person by the cookie, or a program by its bearer. */
export function authenticateEither(
  registry: Registry,
  signIn: SignIn,
  byBearer: (request: FastifyRequest) => Promise<Caller>,
): (request: FastifyRequest) => Promise<Caller> {
  const cookie = sessionCookie(signIn.publicUrl)
  return async (request) => {
    const presented = request.url.startsWith(API) ? readCookie(request, cookie) : undefined
    if (presented === undefined) return byBearer(request)
    // Which of the two is meant, nobody knows.
    if (request.headers.authorization !== undefined) {
      throw new HttpFailure(400, 'Send an account key or the cookie of a signed-in person, not both')
    }
    requireOwnOrigin(request, signIn.publicUrl)
    // A request that was let in before is checked again, such as an open stream of events, which nobody may be looking at.
    const session = await registry.sessions.find(presented, request.caller === undefined)
    const { id, accountId, subject, email } = session
    const shown = request.headers[SHOWN_ACCOUNT]
    // Neither counts as guessing: the session is a real one.
    if (shown !== undefined && shown !== accountId) throw new Failure('authentication-required')
    if (accountId === null) throw new HttpFailure(403, 'Choose an account first')
    const permissions = grantedIn(session, signIn).get(accountId)
    if (permissions === undefined) throw new Failure('authentication-required')
    const authority = { kind: 'session', id } as const
    return registry.admit({ accountId, by: personId(subject), byName: email, permissions, authority })
  }
}

/** A sign-in that has begun. Its secrets are keyed digests of the cookie: none can be computed from it or from another. */
export class Login {
  readonly cookie: string
  readonly returnTo: string

  private constructor(cookie: string, returnTo: string) {
    this.cookie = cookie
    this.returnTo = returnTo
  }

  static begin(returnTo: string, at: Timestamp): Login {
    const parts = [randomBytes(16).toString('base64url'), String(at), Buffer.from(returnTo).toString('base64url')]
    return new Login(parts.join('.'), returnTo)
  }

  /** Undefined for one that was begun too long ago. Whether the cookie is genuine shows in the state. */
  static resume(cookie: string | undefined, publicUrl: string, at: Timestamp): Login | undefined {
    const [, begunAt = '', encoded = ''] = cookie?.split('.') ?? []
    const isRecent = /^\d{1,15}$/.test(begunAt) && at - Number(begunAt) < LOGIN_MINUTES * 60_000
    if (cookie === undefined || !isRecent) return undefined
    return new Login(cookie, safeReturn(Buffer.from(encoded, 'base64url').toString(), publicUrl))
  }

  static readonly maxAgeSeconds = LOGIN_MINUTES * 60

  secrets({ sessions }: Pick<Registry, 'sessions'>): LoginSecrets {
    const secret = (purpose: string) => sessions.secretFor(purpose, this.cookie)
    return { state: secret('state'), nonce: secret('nonce'), verifier: secret('verifier') }
  }
}

/** A page of the console, whatever was asked for. Without a fragment, which could carry an account key. */
export function safeReturn(asked: unknown, publicUrl: string): string {
  if (typeof asked !== 'string' || asked.length > MAX_RETURN_CHARACTERS) return CONSOLE
  const url = URL.parse(asked, publicUrl)
  const isConsole = url?.origin === new URL(publicUrl).origin && url.pathname.startsWith(CONSOLE)
  return isConsole ? `${url.pathname}${url.search}` : CONSOLE
}
