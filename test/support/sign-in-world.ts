// A Latchkey with a real identity provider, and people who sign in to it.
import assert from 'node:assert/strict'
import { CookieBrowser, type Headers } from './cookie-browser.ts'
import { type Engine, Estate } from './estate.ts'
import { closeConnections, type Heard } from './http.ts'
import { freePort, TestProvider } from './identity-provider.ts'
import { START } from './store.ts'

export const API = '/api/v1/apiClient'
export const MINUTE = 60_000
export const SESSION_COOKIE = 'latchkey-session'

export class SignInWorld {
  readonly clock: { now: number }
  readonly provider: TestProvider
  readonly estate: Estate
  readonly url: string

  private constructor(clock: { now: number }, provider: TestProvider, estate: Estate) {
    this.clock = clock
    this.provider = provider
    this.estate = estate
    this.url = estate.url
  }

  static async open(engine: Engine, more: Readonly<Record<string, string>> = {}): Promise<SignInWorld> {
    const clock = { now: START }
    const provider = await TestProvider.start(`http://127.0.0.1:${await freePort()}`)
    provider.grant()
    return new SignInWorld(
      clock,
      provider,
      await Estate.open(engine, { ...provider.settings, ...more }, () => clock.now),
    )
  }

  async close(): Promise<void> {
    closeConnections()
    await this.estate.close()
    await this.provider.close()
  }

  /** Another day: no session is left, and Alice of the support group owns the account. */
  nextDay(): void {
    this.clock.now += 24 * 60 * MINUTE
    this.provider.person = 'alice'
    this.provider.people.clear()
    const groups = ['support', 'staff']
    this.provider.people.set('alice', { email: 'alice@example.com', email_verified: true, groups })
    this.provider.grant(this.grantFor('support'))
  }

  grantFor(group: string, more: object = {}): object {
    return { claim: 'groups', value: group, account: this.estate.mine.accountId, role: 'owner', ...more }
  }

  /** The callback as the provider asks for it; not opened yet. */
  async begin(browser = new CookieBrowser(), returnTo = '/console/') {
    const login = `${this.url}/auth/login?returnTo=${encodeURIComponent(returnTo)}`
    return { browser, callback: await browser.follow(login, `${this.url}/auth/callback`) }
  }

  async signedIn(returnTo?: string) {
    const { browser, callback } = await this.begin(new CookieBrowser(), returnTo)
    const heard = await browser.open(callback)
    assert.equal(heard.status, 303, heard.text)
    const cookie = browser.jar(this.url).get(SESSION_COOKIE) ?? ''
    assert.ok(cookie)
    for (const secret of [cookie, new URL(callback).searchParams.get('code') ?? '']) this.estate.secrets.add(secret)
    return { browser, callback, cookie, heard }
  }

  /** What a browser adds to requests of the console. */
  get own(): Headers {
    return [
      ['origin', this.url],
      ['sec-fetch-site', 'same-origin'],
    ]
  }

  ask(browser: CookieBrowser, path: string, method = 'GET', body?: unknown): Promise<Heard> {
    return browser.open(`${this.url}${path}`, method, this.own, body)
  }

  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  async presence(browser: CookieBrowser): Promise<any> {
    return (await this.ask(browser, '/auth/session')).json
  }

  /** Nobody was let in, and the page says what to do. */
  assertRefused(browser: CookieBrowser, heard: Heard, status: number, words: RegExp): void {
    assert.equal(heard.status, status, heard.text)
    assert.match(String(heard.headers['content-type']), /text\/html/)
    assert.match(String(heard.headers['content-security-policy']), /default-src 'none'/)
    assert.match(heard.text, words)
    assert.match(heard.text, /<p>[^<]*(sign in again|try again)/i)
    assert.match(heard.text, /href="\/auth\/login"/)
    assert.equal(browser.jar(this.url).has(SESSION_COOKIE), false)
  }
}
