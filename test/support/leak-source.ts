// A source of reports of leaked credentials, and where they are sent to.
import { generateKeyPairSync, sign } from 'node:crypto'
import { type Engine, Estate } from './estate.ts'
import type { Heard } from './http.ts'

export const LEAK = '/api/v1/apiClient/leak'
export const OUTSIDE = '/api/v1/leaks'
export const TEXT: readonly [string, string] = ['content-type', 'text/plain']

export const foundIn = ({ json }: Heard) => json.data.found.map(({ _id }: { _id: string }) => _id)

/** A source with one key at a time, which is served over HTTP. */
export class LeakSource {
  #pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  id = 'first'
  fetched = 0
  readonly #server = process.getBuiltinModule('node:http').createServer((_request, answer) => {
    this.fetched++
    const key = this.#pair.publicKey.export({ type: 'spki', format: 'pem' })
    answer.end(JSON.stringify({ public_keys: [{ key_identifier: this.id, key, is_current: true }] }))
  })

  /** One whose service takes the reports of this source, and of anybody. */
  async openEstate(engine: Engine): Promise<Estate> {
    await new Promise<void>((resolve) => void this.#server.listen(0, '127.0.0.1', resolve))
    const keysUrl = `http://127.0.0.1:${(this.#server.address() as { port: number }).port}/keys`
    const sources = JSON.stringify([{ name: 'github', keysUrl }])
    return Estate.open(engine, { LATCHKEY_LEAK_REPORTS: 'on', LATCHKEY_LEAK_SOURCES: sources })
  }

  async close(estate: Estate): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await estate.close()
  }

  replaceKey(id: string): void {
    this.#pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.id = id
  }

  report(
    credentials: readonly string[],
    body = JSON.stringify(credentials.map((token) => ({ token, type: 't', url: '' }))),
  ) {
    const signature = sign('sha256', Buffer.from(body), this.#pair.privateKey).toString('base64')
    return {
      method: 'POST',
      path: `${OUTSIDE}/signed/github`,
      body,
      headers: [
        ['content-type', 'application/json'],
        ['github-public-key-identifier', this.id],
        ['github-public-key-signature', signature],
      ] as const,
    }
  }
}
