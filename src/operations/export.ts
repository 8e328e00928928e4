// A list as CSV, part by part. Its columns stay as they are (new ones are added at the end).
import { Failure } from '../tokens/model/errors.ts'
import type { ListPart, RawQuery } from '../tokens/model/page.ts'
import type { Caller } from '../tokens/model/permissions.ts'
import type { Timestamp } from '../tokens/model/token.ts'
import type { ReadPart } from '../tokens/service/exports.ts'
import type { Registry } from '../tokens/service/registry.ts'
import { type Columns, csvHeader, csvLines } from './csv.ts'

export interface CsvPart {
  readonly text: string
  /** Where the next part continues; undefined after the last one. */
  readonly next: string | undefined
}

export interface CsvExport {
  readonly header: string
  readonly read: (position: string | undefined) => Promise<CsvPart>
}

/** Begins an export: rejects for what the list itself would refuse. */
export type BeginExport = (registry: Registry, asked: AskedList) => CsvExport | Promise<CsvExport>

/** `params` are the parts of the path that name whose list it is. */
export interface AskedList {
  readonly caller: Caller
  readonly query: RawQuery
  readonly params: { readonly id?: string; readonly subAccountId?: string }
  readonly now: Timestamp
}

export function exportOf<Row>(
  columns: Columns,
  read: ReadPart<Row>,
  show: (rows: ListPart<Row>['rows']) => readonly object[] | Promise<readonly object[]>,
): CsvExport {
  return {
    header: csvHeader(columns),
    read: async (position) => {
      const { rows, next } = await read(position)
      return { text: csvLines(columns, await show(rows)), next }
    },
  }
}

/** Who asks for a page must not get everything. */
const OF_PAGES = ['page', 'limit', 'after', 'beforePosition'] as const

export function withoutPages(query: RawQuery): RawQuery {
  const sent = OF_PAGES.find((name) => query[name] !== undefined)
  if (sent === undefined) return query
  throw new Failure(
    'invalid-request',
    `${sent} cannot be combined with CSV, which has everything that the filters match`,
  )
}
