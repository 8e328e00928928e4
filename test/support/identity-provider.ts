// A real OpenID provider on this machine, in which whoever the test says is sitting at the browser.
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Provider from 'oidc-provider'

type Claims = Readonly<Record<string, unknown>>

const CLIENT_ID = 'latchkey'
/** Another site than 127.0.0.1, where Latchkey is: a browser treats the two as strangers. */
const HOST = 'localhost'

export class TestProvider {
  /** The claims of everybody, by subject. */
  readonly people = new Map<string, Claims>()
  /** Who signs in next. */
  person = 'alice'
  /** What Latchkey was asked for last, as the provider saw it. */
  asked: URLSearchParams | undefined
  readonly issuer: string
  readonly clientSecret = randomBytes(16).toString('hex')
  readonly #port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'latchkey-oidc-'))
  readonly #publicUrl: string
  readonly #provider: Provider
  #server: Server | undefined

  private constructor(port: number, publicUrl: string) {
    this.#port = port
    this.#publicUrl = publicUrl
    this.issuer = `http://${HOST}:${port}`
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    this.#provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: this.clientSecret,
          redirect_uris: [`${publicUrl}/auth/callback`],
          post_logout_redirect_uris: [`${publicUrl}/console/`],
        },
      ],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', kid: 'first', alg: 'RS256' }] },
      cookies: { keys: [randomBytes(16).toString('hex')] },
      claims: { email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'] },
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/sign-in/${uid}` },
      findAccount: (_: unknown, id: string) =>
        this.people.has(id) && { accountId: id, claims: () => ({ ...this.people.get(id), sub: id }) },
      ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 600 },
    })
  }

  /** For a Latchkey at `publicUrl`. */
  static async start(publicUrl: string): Promise<TestProvider> {
    const provider = new TestProvider(await freePort(), publicUrl)
    await provider.up()
    return provider
  }

  async up(): Promise<void> {
    const answer = this.#provider.callback()
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', this.issuer)
      if (url.pathname === '/auth') this.asked = url.searchParams
      if (url.pathname.startsWith('/sign-in/')) void this.#signIn(request, response)
      else answer(request, response)
    })
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, HOST, resolve))
  }

  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  async close(): Promise<void> {
    await this.down()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  /** Everybody agrees to everything. */
  async #signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { prompt, params, session } = await this.#provider.interactionDetails(request, response)
    if (this.person === '') {
      return this.#provider.interactionFinished(request, response, { error: 'access_denied' })
    }
    if (prompt.name === 'login') {
      return this.#provider.interactionFinished(request, response, { login: { accountId: this.person } })
    }
    const grant = new this.#provider.Grant({ accountId: session?.accountId ?? '', clientId: CLIENT_ID })
    grant.addOIDCScope(params.scope ?? 'openid')
    const consent = { grantId: await grant.save() }
    return this.#provider.interactionFinished(request, response, { consent })
  }

  get grantsFile(): string {
    return join(this.#folder, 'grants.json')
  }

  /** Takes effect at the next request. */
  grant(...grants: readonly object[]): void {
    writeFileSync(this.grantsFile, JSON.stringify(grants))
  }

  /** The settings of a Latchkey at this provider. */
  get settings(): Readonly<Record<string, string>> {
    return {
      PORT: new URL(this.#publicUrl).port,
      LATCHKEY_OIDC_ISSUER: this.issuer,
      LATCHKEY_OIDC_CLIENT_ID: CLIENT_ID,
      LATCHKEY_OIDC_CLIENT_SECRET: this.clientSecret,
      LATCHKEY_PUBLIC_URL: this.#publicUrl,
      LATCHKEY_OIDC_GRANTS: this.grantsFile,
    }
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
