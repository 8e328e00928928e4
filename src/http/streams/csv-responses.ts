// Lists as CSV, whatever their size: sent part by part, as fast as the client takes them. Between two parts nothing of the store is
// kept open, and the caller is admitted again.
import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CsvPart } from '../../operations/export.ts'
import { type Input, type Operation, requireRights } from '../../operations/operation.ts'
import { Failure } from '../../tokens/model/errors.ts'
import { type RawQuery, readOnce } from '../../tokens/model/page.ts'
import type { Caller } from '../../tokens/model/permissions.ts'
import { callerOf, requireSameRights } from '../access/caller.ts'
import type { ServerParts } from '../parts.ts'
import { StreamCount } from '../protocol/stream-count.ts'

const MOST = { ofAll: 200, ofAccount: 10, what: 'exports' }
/** Characters that wait for the client while the next part is read. */
const BUFFERED = 65_536
/** While the store is busy or restarts, the next part is asked for again: who has half of a list would have to begin at its start. */
const PATIENCE_MS = 30_000
const AGAIN_AFTER_MS = 500

export const FORMATS = ['json', 'csv'] as const

/** By `format`, or else by the Accept header, if it prefers CSV to JSON. */
export function wantsCsv({ query: sent, headers }: Pick<FastifyRequest, 'query' | 'headers'>): boolean {
  const query = sent as RawQuery
  const format = readOnce(query, 'format')
  if (format !== undefined && !FORMATS.some((known) => known === format)) {
    throw new Failure('invalid-request', `format must be ${FORMATS.join(' or ')}`)
  }
  if (format !== undefined) return format === 'csv'
  const { accept } = headers
  if (typeof accept !== 'string' || !accept.includes('text/csv')) return false
  return qualityOf(accept, 'text/csv') > qualityOf(accept, 'application/json')
}

/** Of a media type that is named; 0 for one that is not. */
function qualityOf(accept: string, type: string): number {
  const range = accept.split(',').find((each) => each.split(';', 1)[0]?.trim().toLowerCase() === type)
  if (range === undefined) return 0
  const [, quality = '1'] = /;\s*q=([0-9.]+)/i.exec(range) ?? []
  return Number(quality) || 0
}

/** One part of an export, within a request's scope and deadline of its own. */
export type InScope = <Result>(request: FastifyRequest, work: () => Result) => Result

export class CsvResponses {
  readonly #parts: Pick<ServerParts, 'registry' | 'log'>
  readonly #authenticate: (request: FastifyRequest) => Promise<Caller>
  readonly #inScope: InScope
  readonly #open = new StreamCount(MOST)

  constructor(
    parts: Pick<ServerParts, 'registry' | 'log'>,
    authenticate: (request: FastifyRequest) => Promise<Caller>,
    inScope: InScope,
  ) {
    this.#parts = parts
    this.#authenticate = authenticate
    this.#inScope = inScope
  }

  /** The first part is read before anything is sent: what the list would refuse is refused the same way. */
  async send(route: Operation, input: Input, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { csv, url } = route
    if (csv === undefined) throw new Error(`${url} has no CSV`)
    const caller = callerOf(request)
    const leave = this.#open.enter(caller.accountId)
    try {
      const { query, params } = input
      const [first, exported] = await this.#inScope(request, async () => {
        const begun = await csv.begin(this.#parts.registry, { caller, query, params, now: input.origin.at })
        return [await begun.read(undefined), begun] as const
      })
      const readNext = async (position: string) => {
        const now = await this.#authenticate(request)
        requireSameRights(caller, now)
        requireRights(route, now)
        return this.#inScope(request, () => exported.read(position))
      }
      const next = (position: string) => patiently(() => readNext(position), request)
      const name = `${csv.name}-${new Date(input.origin.at).toISOString().slice(0, 10)}.csv`
      reply.headers({
        'content-type': 'text/csv; charset=utf-8; header=present',
        'content-disposition': `attachment; filename="${name}"`,
      })
      if (request.method === 'HEAD') {
        leave()
        return await reply.send('')
      }
      const parts = this.#partsOf(exported.header, first, next, request)
      const body = Readable.from(parts, { objectMode: false, highWaterMark: BUFFERED })
      body.once('close', leave)
      return await reply.send(body)
    } catch (error) {
      leave()
      throw error
    }
  }

  async *#partsOf(
    header: string,
    first: CsvPart,
    readNext: (position: string) => Promise<CsvPart>,
    request: FastifyRequest,
  ): AsyncGenerator<string> {
    yield header
    try {
      for (let part = first; ; part = await readNext(part.next)) {
        if (part.text !== '') yield part.text
        if (part.next === undefined) return
      }
    } catch (error) {
      if (request.raw.socket.destroyed) throw error
      this.#parts.log.warn({ reqId: request.id, err: error }, 'an export ended before its end')
      // A reset and no mere end: to a client of HTTP/1.0, such as a proxy, the end of the connection is the end of the file.
      request.raw.socket.resetAndDestroy()
      throw error
    }
  }
}

async function patiently<Result>(ask: () => Promise<Result>, { raw }: FastifyRequest): Promise<Result> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isPassing = error instanceof Failure && error.code === 'unavailable'
      if (!isPassing || raw.socket.destroyed || performance.now() > until) throw error
    }
    await pause(AGAIN_AFTER_MS)
  }
}

export function withoutFormat({ format: _format, ...query }: RawQuery): RawQuery {
  return query
}
