// What a browser does with cookies and redirects, and nothing else of it.
import { type Heard, send } from './http.ts'

export type Headers = readonly (readonly [string, string])[]

/** Cookies as a browser keeps them, by origin; follows redirects only when told to. */
export class CookieBrowser {
  readonly jars = new Map<string, Map<string, string>>()

  jar(address: string): Map<string, string> {
    const { origin } = new URL(address)
    const jar = this.jars.get(origin) ?? new Map<string, string>()
    this.jars.set(origin, jar)
    return jar
  }

  async open(address: string, method = 'GET', headers: Headers = [], body?: unknown): Promise<Heard> {
    const { origin, pathname, search } = new URL(address)
    const jar = this.jar(address)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const heard = await send(origin, {
      method,
      path: pathname + search,
      headers: [...headers, ...(cookie === '' ? [] : [['cookie', cookie] as const])],
      body,
    })
    for (const line of [heard.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0|expires=thu, 01 jan 1970/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return heard
  }

  /** Until an address that begins so, which is not opened; or until somebody answers with a page. */
  async follow(address: string, until: string): Promise<string> {
    let next = address
    for (let hops = 0; hops < 20; hops++) {
      if (next.startsWith(until)) return next
      const heard = await this.open(next)
      const { location } = heard.headers
      if (typeof location !== 'string') throw new Error(`${next} answered ${heard.status}: ${heard.text}`)
      next = new URL(location, next).href
    }
    throw new Error('too many redirects')
  }
}
