// Signing in to the console through the company's identity provider, and out again. Browsers are sent here by links, so what
// goes wrong is said in a page; the console's own requests get JSON.
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Failure } from '../../tokens/errors.ts'
import { isObject } from '../../tokens/model/fields.ts'
import { endOf, type StoredSession } from '../../tokens/model/session.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { Account } from '../../tokens/model/token.ts'
import type { Registry } from '../../tokens/registry.ts'
import type { Person } from '../../tokens/sessions.ts'
import {
  CALLBACK,
  clearCookie,
  grantedIn,
  Login,
  loginCookie,
  readCookie,
  requireOwnOrigin,
  type SignIn,
  SignInRefused,
  safeReturn,
  sessionCookie,
  setCookie,
} from '../access/session.ts'
import { HttpFailure } from '../protocol/failures.ts'
import { PAGE_HEADERS, refusalPage } from './auth-pages.ts'
import type { PlainRoute } from './route.ts'

const CONSOLE = '/console/'

interface Parts {
  readonly registry: Registry
  readonly log: Logger
  readonly now: () => number
  readonly signIn?: SignIn | undefined
}

type NamedAccount = Pick<Account, 'id' | 'name'>

/** What the console is told about the person at the browser. */
interface Presence {
  /** Whether people can sign in through an identity provider. */
  readonly provider: boolean
  readonly person: { readonly subject: string; readonly email: string | null } | null
  /** The one that is chosen. */
  readonly account: NamedAccount | null
  /** Those to choose from. */
  readonly accounts: readonly NamedAccount[]
  /** When the session ends unless it is used. */
  readonly endsAt: string | null
  /** Why a session that the browser still knows of is none any more. */
  readonly ended: 'expired' | 'ended' | null
}

const NOBODY: Presence = { provider: false, person: null, account: null, accounts: [], endsAt: null, ended: null }

/** Answers are about one person, and must not be kept by anybody. */
const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

export function authRoutes({ registry, log, now, signIn }: Parts): Readonly<Record<string, PlainRoute>> {
  const hidden = { schema: { hide: true }, access: 'anyone' } as const
  if (signIn === undefined) {
    const presence: PlainRoute = {
      ...hidden,
      method: 'GET',
      url: '/auth/session',
      respond: async (_request, reply) => reply.headers(PRIVATE).send(NOBODY),
    }
    return { presence }
  }
  const { provider, publicUrl } = signIn
  const cookies = { session: sessionCookie(publicUrl), login: loginCookie(publicUrl) }

  /** Accounts that a grant names but that do not exist are left out. */
  const accountsOf = async (session: Pick<StoredSession, 'claims'>): Promise<readonly NamedAccount[]> => {
    const ids = [...grantedIn(session, signIn).keys()]
    const found = await Promise.all(ids.map((id) => registry.findAccount(id)))
    return found.filter((account) => account !== undefined).map(({ id, name }) => ({ id, name }))
  }

  const presenceOf = async (session: StoredSession): Promise<Presence> => {
    const accounts = await accountsOf(session)
    const { subject, email, accountId } = session
    return {
      ...NOBODY,
      provider: true,
      person: { subject, email },
      account: accounts.find(({ id }) => id === accountId) ?? null,
      accounts,
      endsAt: toTime(endOf(session)),
    }
  }

  const refuse = (request: FastifyRequest, reply: FastifyReply, error: unknown) => {
    if (!(error instanceof SignInRefused)) throw error
    log.warn({ reqId: request.id, kind: error.kind, reason: error.message }, 'sign-in failed')
    const { status, html } = refusalPage(error.kind, request.id)
    return reply.code(status).headers(PAGE_HEADERS).send(html)
  }

  /** The cookie of a person who is signed in; refuses what another site has caused. */
  const presented = (request: FastifyRequest): string | undefined => {
    requireOwnOrigin(request, publicUrl)
    return readCookie(request, cookies.session)
  }

  const presence: PlainRoute = {
    ...hidden,
    method: 'GET',
    url: '/auth/session',
    async respond(request, reply) {
      reply.headers(PRIVATE)
      const cookie = presented(request)
      if (cookie === undefined) return { ...NOBODY, provider: true }
      try {
        return await presenceOf(await registry.sessions.find(cookie))
      } catch (error) {
        if (!(error instanceof Failure) || !['token-invalid', 'token-expired'].includes(error.code)) throw error
        reply.header('set-cookie', clearCookie(cookies.session))
        return { ...NOBODY, provider: true, ended: error.code === 'token-expired' ? 'expired' : 'ended' }
      }
    },
  }

  const login: PlainRoute = {
    ...hidden,
    method: 'GET',
    url: '/auth/login',
    async respond(request, reply) {
      reply.headers(PRIVATE)
      const { returnTo } = request.query as { returnTo?: unknown }
      const begun = Login.begin(safeReturn(returnTo, publicUrl), now())
      try {
        const address = await provider.begin(begun.secrets(registry))
        // Only a link of the console brings this cookie. The callback gets none, and sets the next one.
        const former = readCookie(request, cookies.session)
        if (former !== undefined) await registry.sessions.end(former)
        reply.header('set-cookie', setCookie(cookies.login, begun.cookie, Login.maxAgeSeconds))
        return reply.redirect(address.href, 302)
      } catch (error) {
        return refuse(request, reply, error)
      }
    },
  }

  const callback: PlainRoute = {
    ...hidden,
    method: 'GET',
    url: CALLBACK,
    async respond(request, reply) {
      reply.headers(PRIVATE).header('set-cookie', clearCookie(cookies.login))
      try {
        const begun = Login.resume(readCookie(request, cookies.login), publicUrl, now())
        if (begun === undefined) throw new SignInRefused('invalid', 'this browser has not begun it, or too long ago')
        const query = request.url.slice(request.url.indexOf('?') + 1)
        const person = await provider.finish(`?${query}`, begun.secrets(registry))
        return await admit(request, reply, person, begun.returnTo)
      } catch (error) {
        return refuse(request, reply, error)
      }
    },
  }

  const admit = async (request: FastifyRequest, reply: FastifyReply, person: Person, returnTo: string) => {
    const about = { reqId: request.id, by: `oidc:${person.subject}` }
    const [first, ...others] = await accountsOf({ claims: JSON.stringify(person.claims) })
    if (first === undefined) {
      log.warn(about, 'sign-in refused: no grant matches')
      const { status, html } = refusalPage('stranger', request.id, person.email ?? person.subject)
      return reply.code(status).headers(PAGE_HEADERS).send(html)
    }
    const cookie = await registry.sessions.start(person, others.length === 0 ? first.id : null)
    log.info(about, 'signed in')
    reply.header('set-cookie', setCookie(cookies.session, cookie))
    return reply.redirect(returnTo, 303)
  }

  const logout: PlainRoute = {
    ...hidden,
    method: 'POST',
    url: '/auth/logout',
    async respond(request, reply) {
      reply.headers(PRIVATE)
      const cookie = presented(request)
      if (cookie !== undefined) await registry.sessions.end(cookie)
      reply.header('set-cookie', clearCookie(cookies.session))
      // Signed out here, whatever the provider says.
      const endSessionUrl = await provider.endUrl(CONSOLE).catch(() => undefined)
      return { endSessionUrl: endSessionUrl ?? null }
    },
  }

  const choice: PlainRoute = {
    ...hidden,
    method: 'POST',
    url: '/auth/account',
    async respond(request, reply) {
      reply.headers(PRIVATE)
      const cookie = presented(request)
      if (cookie === undefined) throw new Failure('authentication-required')
      const session = await registry.sessions.find(cookie)
      const { account } = (isObject(request.body) ? request.body : {}) as { account?: unknown }
      if (typeof account !== 'string') throw new HttpFailure(400, 'account must be the id of an account')
      const accounts = await accountsOf(session)
      if (!accounts.some(({ id }) => id === account)) throw new HttpFailure(403, 'You have no access to this account')
      await registry.sessions.choose(session, account)
      return presenceOf({ ...session, accountId: account })
    },
  }

  return { presence, login, callback, logout, choice }
}
