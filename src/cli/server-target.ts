// A server, with the rights of an account key.
import { dataOf } from '../../client/answer.ts'
import { errorOf } from '../../client/error.ts'
import { type Access, createClient, LatchkeyError, type Operations } from '../../client/latchkey-client.ts'
import type { BulkOperation } from '../../client/operations.ts'
import { prepare } from '../../client/request.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import type { CommandOperation, ExportedList } from './answers.ts'
import type { Server } from './contexts.ts'
import type { Target } from './target.ts'
import { EXIT, exitCodeOf, ServerFailure, UsageError } from './terminal/exit-codes.ts'
import { untilOver } from './until-over.ts'

const ALL_IS_LOCAL = '--all is for the local store: keys for all accounts belong to its operator.'
const OWN_CREDENTIALS = 'A server makes every credential itself: only the local store takes an existing one.'
const NO_KEY = 'Set LATCHKEY_KEY to an account key, or use `latchkey context`.'

/** Where the server or the key is the matter, the message says which server. */
export function explainRefusal(error: unknown, { url, key }: Server): unknown {
  if (!(error instanceof LatchkeyError)) return error
  const { code, message, status, requestId, cause } = error
  const why = cause instanceof Error && cause.cause instanceof Error ? ` (${cause.cause.message})` : ''
  const request = status >= 500 && requestId !== undefined ? ` (request ${requestId})` : ''
  const failure = new ServerFailure(code, message)
  if (exitCodeOf(failure) === EXIT.refused) return new ServerFailure(code, `${message}${request}`)
  const advice = code === 'authentication-required' && key === undefined ? `. ${NO_KEY}` : ''
  return new ServerFailure(code, `${url}: ${message}${why}${request}${advice}`)
}

export class ServerTarget implements Target {
  readonly #server: Server
  readonly #client: ReturnType<typeof createClient>

  constructor(server: Server) {
    this.#server = server
    this.#client = createClient({ baseUrl: server.url, accountKey: server.key })
  }

  call<Id extends CommandOperation>(id: Id, params: Operations[Id]['params']): Promise<Operations[Id]['data']> {
    const method = this.#client[id] as (params: object) => Promise<Operations[Id]['data']>
    return method(params)
  }

  async *csv(list: ExportedList, params: object) {
    const { url, key } = this.#server
    const path = prepare(list, { ...params, format: 'csv' }).url
    const response = await request(`${url.replace(/\/$/, '')}${path}`, key)
    const { status, headers, body } = response
    if (status !== 200) dataOf({ status, headers, text: await response.text() }, 'data')
    if (body === null || !headers.get('content-type')?.startsWith('text/csv')) {
      throw new ServerFailure('unexpected-answer', `${url}: this version of the server has no CSV`)
    }
    try {
      // With the byte order mark, as on the local store.
      yield* body.pipeThrough(new TextDecoderStream('utf-8', { ignoreBOM: true }))
    } catch {
      throw new ServerFailure('unreachable', `${url}: the list broke off. What was printed is not complete`)
    }
  }

  whoami() {
    return this.#client.whoami()
  }

  verify(credential: string, access: Access) {
    return this.#client.verify(credential, access)
  }

  async importToken(): Promise<never> {
    throw new UsageError(OWN_CREDENTIALS)
  }

  /** A server shows no other account's. */
  async accountOf() {
    return (await this.#client.whoami()).account._id
  }

  async inAccount(accountId: string) {
    const own = await this.accountOf()
    if (own === accountId) return this
    throw new OperatorError(`The key is one of ${own}, not of ${accountId}. Leave the account out.`)
  }

  async inAllAccounts(): Promise<never> {
    throw new UsageError(ALL_IS_LOCAL)
  }

  awaitBulk(id: string, onProgress: (operation: BulkOperation) => void) {
    return untilOver(() => this.#client.getBulk({ id }), onProgress)
  }
}

async function request(url: string, key: string | undefined): Promise<Response> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  try {
    return await fetch(url, { headers, redirect: 'manual' })
  } catch (cause) {
    throw errorOf('The service cannot be reached', { code: 'unreachable', cause })
  }
}
