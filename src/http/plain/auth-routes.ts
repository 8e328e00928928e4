// Signing in to the console through the company's identity provider, and out again. Browsers are sent here by links, so what
// goes wrong is said in a page; the console's own requests get JSON.
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { unknownNamesCheck } from '../../operations/unknown-names.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import type { StoredSession } from '../../tokens/people/session.ts'
import { type Person, personId } from '../../tokens/people/sessions.ts'
import { isObject } from '../../tokens/verify/is-object.ts'
import { addressOf } from '../access/client-address.ts'
import {
  CALLBACK,
  CONSOLE,
  type Cookie,
  clearCookie,
  grantedIn,
  isFromOwnOrigin,
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
import type { PlainRoute, ServerParts } from '../parts.ts'
import { HttpFailure } from '../protocol/failures.ts'
import { PAGE_HEADERS, refusalPage } from './auth-pages.ts'

const SESSION = '/auth/session'

interface NamedAccount {
  readonly _id: string
  readonly name: string
}

/** What the console learns about the person at the browser. */
interface Presence {
  /** Whether people can sign in through an identity provider. */
  readonly provider: boolean
  readonly person: { readonly subject: string; readonly email: string | null } | null
  /** The id of the session in this browser. */
  readonly session: string | null
  /** The one that is chosen. */
  readonly account: NamedAccount | null
  /** Those to choose from. */
  readonly accounts: readonly NamedAccount[]
  /** Why a session that the browser still knows of is none any more. */
  readonly ended: 'expired' | 'ended' | null
}

const NOBODY: Presence = { provider: false, person: null, session: null, account: null, accounts: [], ended: null }

/** Answers are about one person, and must not be kept by anybody. */
const PRIVATE = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

type Respond = PlainRoute['respond']

export function authRoutes({ signIn, ...parts }: ServerParts): readonly PlainRoute[] {
  const hidden = { schema: { hide: true }, access: 'anyone' } as const
  const route = (method: 'GET' | 'POST', url: string, respond: Respond): PlainRoute => ({
    ...hidden,
    method,
    url,
    respond: (request, reply) => respond(request, reply.headers(PRIVATE)),
  })
  if (signIn === undefined) return [route('GET', SESSION, async () => NOBODY)]
  const handlers = new SignInHandlers({ ...parts, signIn })
  return [
    route('GET', SESSION, (request, reply) => handlers.getPresence(request, reply)),
    route('GET', '/auth/login', (request, reply) => handlers.login(request, reply)),
    route('GET', CALLBACK, (request, reply) => handlers.complete(request, reply)),
    route('POST', '/auth/logout', (request, reply) => handlers.logout(request, reply)),
    route('POST', '/auth/account', (request) => handlers.choose(request)),
  ]
}

const checkNames = unknownNamesCheck({ body: Type.Object({ account: Type.String() }) })

class SignInHandlers {
  readonly #parts: ServerParts & { readonly signIn: SignIn }
  readonly #session: Cookie
  readonly #login: Cookie

  constructor(parts: ServerParts & { readonly signIn: SignIn }) {
    this.#parts = parts
    this.#session = sessionCookie(parts.signIn.publicUrl)
    this.#login = loginCookie(parts.signIn.publicUrl)
  }

  async getPresence(request: FastifyRequest, reply: FastifyReply): Promise<Presence> {
    const cookie = this.#presented(request)
    if (cookie === undefined) return { ...NOBODY, provider: true }
    try {
      return await this.#presenceOf(await this.#parts.registry.sessions.find(cookie))
    } catch (error) {
      if (!(error instanceof Failure) || !['token-invalid', 'token-expired'].includes(error.code)) throw error
      reply.header('set-cookie', clearCookie(this.#session))
      return { ...NOBODY, provider: true, ended: error.code === 'token-expired' ? 'expired' : 'ended' }
    }
  }

  async login(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { registry, now, signIn } = this.#parts
    const { returnTo } = request.query as { returnTo?: unknown }
    const begun = Login.begin(safeReturn(returnTo, signIn.publicUrl), now())
    try {
      const address = await signIn.provider.begin(begun.secrets(registry))
      // A page of another origin of this site sends the cookie too, and must not end the session. The callback, which is
      // cross-site, gets no session cookie: the former session is ended here.
      const former = isFromOwnOrigin(request, signIn.publicUrl) ? readCookie(request, this.#session) : undefined
      if (former !== undefined) await registry.sessions.end(former, sourceOf(request))
      reply.header('set-cookie', setCookie(this.#login, begun.cookie, Login.maxAgeSeconds))
      return reply.redirect(address.href, 302)
    } catch (error) {
      return this.#refuse(request, reply, error)
    }
  }

  /** The provider has sent the browser back. */
  async complete(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const { registry, now, signIn } = this.#parts
    reply.header('set-cookie', clearCookie(this.#login))
    try {
      const begun = Login.resume(readCookie(request, this.#login), signIn.publicUrl, now())
      if (begun === undefined) throw new SignInRefused('invalid', 'this browser has not begun it, or too long ago')
      const query = request.url.slice(request.url.indexOf('?') + 1)
      const secrets = begun.secrets(registry)
      await this.#spend(new URLSearchParams(query), secrets.state)
      const person = await signIn.provider.finish(`?${query}`, secrets)
      return await this.#admit(request, reply, person, begun.returnTo)
    } catch (error) {
      return this.#refuse(request, reply, error)
    }
  }

  /** Whatever comes of it: neither this state nor this code can be presented again. Others are refused by the provider's client. */
  async #spend(query: URLSearchParams, expectedState: string): Promise<void> {
    const [state, code] = [query.get('state'), query.get('code')]
    if (state !== expectedState) return
    const texts = [`state ${state}`, ...(code === null ? [] : [`code ${code}`])]
    if (await this.#parts.registry.sessions.spend(texts)) return
    throw new SignInRefused('invalid', 'its state or code was presented before')
  }

  async #admit(request: FastifyRequest, reply: FastifyReply, person: Person, returnTo: string): Promise<unknown> {
    const { registry, log } = this.#parts
    const about = { reqId: request.id, by: personId(person.subject) }
    const [first, ...others] = await this.#accountsOf({ claims: JSON.stringify(person.claims) })
    if (first === undefined) {
      log.warn(about, 'sign-in refused: no grant matches')
      return sendPage(reply, refusalPage('stranger', request.id, person.email ?? person.subject))
    }
    const from = { ...sourceOf(request), userAgent: request.headers['user-agent'] }
    const cookie = await registry.sessions.start(person, others.length === 0 ? first._id : null, from)
    log.info(about, 'signed in')
    reply.header('set-cookie', setCookie(this.#session, cookie))
    return reply.redirect(returnTo, 303)
  }

  #refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): FastifyReply {
    if (!(error instanceof SignInRefused)) throw error
    const { kind, message: reason } = error
    this.#parts.log.warn({ reqId: request.id, kind, reason }, 'sign-in failed')
    return sendPage(reply, refusalPage(kind, request.id))
  }

  async logout(request: FastifyRequest, reply: FastifyReply): Promise<object> {
    const { registry, signIn } = this.#parts
    const cookie = this.#presented(request)
    if (cookie !== undefined) await registry.sessions.end(cookie, sourceOf(request))
    reply.header('set-cookie', clearCookie(this.#session))
    // Signed out here, whatever the provider says.
    const endSessionUrl = await signIn.provider.endUrl(CONSOLE).catch(() => undefined)
    return { endSessionUrl: endSessionUrl ?? null }
  }

  async choose(request: FastifyRequest): Promise<Presence> {
    const { sessions } = this.#parts.registry
    const cookie = this.#presented(request)
    if (cookie === undefined) throw new Failure('authentication-required')
    const session = await sessions.find(cookie)
    checkNames({ query: request.query as RawQuery, body: request.body })
    const { account } = (isObject(request.body) ? request.body : {}) as { account?: unknown }
    if (typeof account !== 'string') throw new HttpFailure(400, 'account must be the id of an account')
    const accounts = await this.#accountsOf(session)
    if (!accounts.some(({ _id }) => _id === account)) throw new HttpFailure(403, 'You have no access to this account')
    await sessions.choose(session, account, sourceOf(request))
    return this.#presenceOf({ ...session, accountId: account })
  }

  /** The cookie of a person who is signed in; refuses what another site has caused. */
  #presented(request: FastifyRequest): string | undefined {
    requireOwnOrigin(request, this.#parts.signIn.publicUrl)
    return readCookie(request, this.#session)
  }

  async #presenceOf(session: StoredSession): Promise<Presence> {
    const accounts = await this.#accountsOf(session)
    const { id: sessionId, subject, email, accountId } = session
    return {
      provider: true,
      person: { subject, email },
      session: sessionId,
      account: accounts.find(({ _id }) => _id === accountId) ?? null,
      accounts,
      ended: null,
    }
  }

  /** Accounts that a grant names but that do not exist are left out. */
  async #accountsOf(session: Pick<StoredSession, 'claims'>): Promise<readonly NamedAccount[]> {
    const { registry, signIn } = this.#parts
    const ids = [...grantedIn(session, signIn).keys()]
    const found = await Promise.all(ids.map((id) => registry.findAccount(id)))
    return found.filter((account) => account !== undefined).map(({ id, name }) => ({ _id: id, name }))
  }
}

const sourceOf = (request: FastifyRequest) => ({ requestId: request.id, address: addressOf(request) })

function sendPage(reply: FastifyReply, { status, html }: ReturnType<typeof refusalPage>): FastifyReply {
  return reply.code(status).headers(PAGE_HEADERS).send(html)
}
