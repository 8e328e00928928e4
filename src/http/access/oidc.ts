// Talks to the company's identity provider: OpenID Connect, code flow with PKCE. Its tokens are read here and forgotten.
import * as client from 'openid-client'
import type { Claims } from '../../operations/operation.ts'
import { brokenNameRule, normalizeName } from '../../tokens/model/token.ts'
import type { Person } from '../../tokens/people/sessions.ts'
import { trustedClaims } from './grants.ts'
import { CALLBACK, type IdentityProvider, type LoginSecrets, type RefusalKind, SignInRefused } from './session.ts'

interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The origin at which browsers reach this service. */
  readonly publicUrl: string
  /** Also addresses of which the provider does not say whether they are verified. */
  readonly trustsEmail: boolean
  readonly fetch: typeof globalThis.fetch
}

const TIMEOUT_SECONDS = 5
const REDISCOVERED_AFTER_MS = 3_600_000
/** What a session may hold. A provider that sends more, such as thousands of groups, has to be told to send less. */
const MAX_CLAIMS_BYTES = 64 * 1024

export class OidcProvider implements IdentityProvider {
  readonly #settings: OidcSettings
  /** The names of the claims that decide who gets in, which may need a scope of the same name. */
  readonly #wantedClaims: () => readonly string[]
  readonly #now: () => number
  #known: { readonly at: number; readonly config: Promise<client.Configuration> } | undefined

  constructor(settings: OidcSettings, wantedClaims: () => readonly string[], now = () => performance.now()) {
    this.#settings = settings
    this.#wantedClaims = wantedClaims
    this.#now = now
  }

  async begin({ state, nonce, verifier }: LoginSecrets): Promise<URL> {
    const wanted = this.#readWanted()
    const config = await this.#configuration()
    const { scopes_supported: supported = [] } = config.serverMetadata()
    const extra = wanted.filter((claim) => supported.includes(claim))
    return client.buildAuthorizationUrl(config, {
      redirect_uri: this.#address(CALLBACK),
      scope: [...new Set(['openid', 'email', 'profile', ...extra])].join(' '),
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      nonce,
    })
  }

  async finish(query: string, { state, nonce, verifier }: LoginSecrets): Promise<Person> {
    // Before the code is spent: nobody can be let in without the grants.
    this.#readWanted()
    const config = await this.#configuration()
    const answer = new URL(`${this.#address(CALLBACK)}${query}`)
    const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
    return asking('invalid', async () => {
      const tokens = await client.authorizationCodeGrant(config, answer, checks)
      const identity = tokens.claims()
      if (identity === undefined) throw new SignInRefused('invalid', 'the answer has no ID token')
      const hasMore = config.serverMetadata().userinfo_endpoint !== undefined
      const more = hasMore ? await client.fetchUserInfo(config, tokens.access_token, identity.sub) : {}
      return personOf(this.countedClaims(joinedClaims(identity, more)))
    })
  }

  countedClaims(claims: Claims): Claims {
    const trusted = Object.entries(trustedClaims(claims, this.#settings.trustsEmail))
    return Object.fromEntries(trusted.filter(([name, value]) => !OF_THE_SIGN_IN.includes(name) && isStorable(value)))
  }

  /** Without the ID token, which would be in an address: the provider may ask the person to confirm. */
  async endUrl(returnTo: string): Promise<string | undefined> {
    const config = await this.#configuration()
    if (config.serverMetadata().end_session_endpoint === undefined) return undefined
    return client.buildEndSessionUrl(config, { post_logout_redirect_uri: this.#address(returnTo) }).href
  }

  #readWanted(): readonly string[] {
    try {
      return this.#wantedClaims()
    } catch (error) {
      throw new SignInRefused('grants', (error as Error).message)
    }
  }

  #address(path: string): string {
    return `${this.#settings.publicUrl}${path}`
  }

  /** Requests at the same time share one discovery; one that fails is tried again by the next request. */
  #configuration(): Promise<client.Configuration> {
    const now = this.#now()
    if (this.#known === undefined || now - this.#known.at > REDISCOVERED_AFTER_MS) {
      const found = { at: now, config: asking('misconfigured', () => discover(this.#settings)) }
      this.#known = found
      found.config.catch(() => {
        if (this.#known === found) this.#known = undefined
      })
    }
    return this.#known.config
  }
}

function discover({ issuer, clientId, clientSecret, fetch }: OidcSettings): Promise<client.Configuration> {
  const server = new URL(issuer)
  // The signature of the ID token is checked as well, though it comes from the provider itself.
  const execute = [client.enableNonRepudiationChecks]
  // The settings allow plain HTTP on this machine only.
  if (server.protocol === 'http:') execute.push(client.allowInsecureRequests)
  return client.discovery(server, clientId, clientSecret, authenticateClient(clientSecret), {
    timeout: TIMEOUT_SECONDS,
    execute,
    [client.customFetch]: (url, options) => fetch(url, options as RequestInit),
  })
}

/** HTTP Basic is what a provider supports that does not say otherwise. */
function authenticateClient(secret: string): client.ClientAuth {
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    return (methods.includes('client_secret_basic') ? basic : post)(server, ...rest)
  }
}

/**
 * The ID token's, then the others'. The e-mail address and whether it is verified come from one of the two, rather one that says
 * both: the other may mean another address.
 */
export function joinedClaims(identity: Claims, more: Claims): Claims {
  const { email: _, email_verified: __, ...others }: Claims = { ...more, ...identity }
  const addressed = [identity, more].filter(({ email }) => email !== undefined)
  const source = addressed.find(({ email_verified }) => email_verified !== undefined) ?? addressed[0]
  if (source === undefined) return others
  const { email, email_verified } = source
  return { ...others, email, ...(email_verified !== undefined && { email_verified }) }
}

/** What identifies this sign-in rather than the person. */
const OF_THE_SIGN_IN = ['iss', 'aud', 'azp', 'nonce', 'at_hash', 'c_hash', 's_hash', 'jti', 'sid']

const isText = (value: unknown) => typeof value === 'string'
const isStorable = (value: unknown) => isText(value) || (Array.isArray(value) && value.every(isText))

function personOf(claims: Claims): Person {
  const { sub, email } = claims
  if (typeof sub !== 'string' || sub === '' || brokenNameRule(sub) !== undefined) {
    throw new SignInRefused('misconfigured', 'the subject cannot be stored')
  }
  if (Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIMS_BYTES) {
    throw new SignInRefused('misconfigured', `the claims are larger than ${MAX_CLAIMS_BYTES} bytes`)
  }
  const address = typeof email === 'string' ? normalizeName(email) : ''
  const isName = address !== '' && brokenNameRule(address) === undefined
  return { subject: sub, email: isName ? address : null, claims }
}

/** Refusals by what the person can do about them; `otherwise` for those in which the answer itself is wrong. */
async function asking<Value>(otherwise: RefusalKind, ask: () => Promise<Value>): Promise<Value> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof SignInRefused) throw error
    const { kind = otherwise, reason } = readRefusal(error)
    throw new SignInRefused(kind, reason)
  }
}

/** Only codes, never what came with them: that may be a token. */
function readRefusal(error: unknown): { readonly kind?: RefusalKind; readonly reason: string } {
  const { code, name, cause } = error as { code?: string; name?: string; cause?: { code?: string } }
  const reason = [name, code, cause?.code].filter(isText).join(' ')
  if (error instanceof client.AuthorizationResponseError) return { kind: 'denied', reason: `${reason} ${error.error}` }
  if (error instanceof client.ResponseBodyError) {
    // A code that was used before, or belongs to another sign-in.
    const kind = error.error === 'invalid_grant' ? 'invalid' : 'misconfigured'
    return { kind, reason: `${reason} ${error.error}` }
  }
  const isSilent = code === 'OAUTH_TIMEOUT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM'
  // What fetch itself throws is a TypeError.
  return error instanceof TypeError || isSilent ? { kind: 'unreachable', reason } : { reason }
}
