// A real service with verifiers of it, whose network and clocks a test can hold up.
import assert from 'node:assert/strict'
import type { VerifierOptions } from '../../client/verifier/verifier.ts'
import type { Estate } from '../support/estate.ts'
import { bearer, type Heard, send } from '../support/http.ts'

const TOKEN = '/api/v1/apiClient/token'

/** Clocks that run, and can be set forward: as on a machine that was suspended, only the wall clock. */
export class Clocks {
  #monotonicAhead = 0
  #wallAhead = 0

  readonly read = () => ({
    monotonic: performance.now() + this.#monotonicAhead,
    wall: Date.now() + this.#wallAhead,
  })

  pass(ms: number): void {
    this.#monotonicAhead += ms
    this.#wallAhead += ms
  }

  suspend(ms: number): void {
    this.#wallAhead += ms
  }
}

type Path = 'lease' | 'verify'

/** The network between a verifier and the service. */
export class Network {
  #cut = new Set<Path>()
  #held: { readonly path: Path; readonly released: Promise<void> } | undefined
  #arrived = Promise.withResolvers<void>()

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const path = String(input).endsWith('/lease') ? 'lease' : 'verify'
    if (this.#cut.has(path)) throw new TypeError('cut')
    const response = await globalThis.fetch(input, init)
    if (this.#held?.path !== path) return response
    // The service has answered; the verifier gets it later.
    const text = await response.text()
    this.#arrived.resolve()
    await this.#held.released
    return new Response(text, { status: response.status, headers: response.headers })
  }

  cut(...paths: readonly Path[]): void {
    this.#cut = new Set(paths)
  }

  /** Holds the next answer up. */
  hold(path: Path): { readonly arrived: Promise<void>; readonly release: () => void } {
    const { promise: released, resolve } = Promise.withResolvers<void>()
    this.#arrived = Promise.withResolvers<void>()
    this.#held = { path, released }
    const release = () => {
      this.#held = undefined
      resolve()
    }
    return { arrived: this.#arrived.promise, release }
  }
}

export async function verifierKey(estate: Estate): Promise<string> {
  const permissions = { role: 'verifier', reveal: false, subAccounts: null } as const
  const { key } = await estate.running.operator.createKey(estate.mine.accountId, 'verifies', null, permissions)
  estate.secrets.add(key)
  return key
}

export const optionsOf = (baseUrl: string, key: string, clocks: Clocks, network: Network): VerifierOptions => ({
  ...{ baseUrl, key, name: 'till 3', leaseSeconds: 2 },
  ...{ clock: clocks.read, fetch: network.fetch },
})

export async function change(estate: Estate, id: string, body: object, url = estate.url): Promise<Heard> {
  const sent = { method: 'PATCH', path: `${TOKEN}/${id}`, headers: [bearer(estate.mine.key)], body }
  const heard = await send(url, sent)
  assert.equal(heard.status, 200, heard.text)
  return heard
}
