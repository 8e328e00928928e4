// Lists of a server as CSV, passed on as they arrive.
import { dataOf } from '../../client/answer.ts'
import { errorOf } from '../../client/error.ts'
import type { RawQuery } from '../tokens/model/page.ts'
import type { Server } from './contexts.ts'
import { ServerFailure } from './exit-codes.ts'
import type { ExportedList } from './management.ts'

const PATHS: Readonly<Record<ExportedList, string>> = {
  tokens: 'token',
  'sub-accounts': 'sub-account',
  keys: 'key',
  history: 'history',
}

/** `id`: of the token whose history it is. */
export async function* downloadCsv(server: Server, list: ExportedList, id: string | undefined, query: RawQuery) {
  const response = await request(server, `${pathOf(list, id)}?${parametersOf(query)}`)
  const { status, headers, body } = response
  if (status !== 200) dataOf({ status, headers, text: await response.text() }, 'data')
  if (body === null || !headers.get('content-type')?.startsWith('text/csv')) {
    throw new ServerFailure('unexpected-answer', `${server.url}: this version of the server has no CSV`)
  }
  try {
    // With the byte order mark, as on the local store.
    yield* body.pipeThrough(new TextDecoderStream('utf-8', { ignoreBOM: true }))
  } catch {
    throw new ServerFailure('unreachable', `${server.url}: the list broke off. What was printed is not complete`)
  }
}

function pathOf(list: ExportedList, id: string | undefined): string {
  return `/api/v1/apiClient/${id === undefined ? PATHS[list] : `token/${encodeURIComponent(id)}/${PATHS[list]}`}`
}

function parametersOf(query: RawQuery): URLSearchParams {
  const sent = Object.entries({ ...query, format: 'csv' }).filter(([, value]) => value !== undefined)
  return new URLSearchParams(sent.flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])))
}

async function request({ url, key }: Server, path: string): Promise<Response> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  try {
    return await fetch(`${url.replace(/\/$/, '')}${path}`, { headers, redirect: 'manual' })
  } catch (cause) {
    throw errorOf('The service cannot be reached', { code: 'unreachable', cause })
  }
}
