// The result of a query for a page of a list: the page and the way to others, or why there is nothing on it.
import type { ReactNode } from 'react'
import { ClearFilters, Empty, EmptyPage } from './empty-page.tsx'
import { Pager } from './pager.tsx'
import { MaybeOutdated, type Query, QueryResult } from './query-result.tsx'

export interface PageData {
  readonly items: readonly unknown[]
  readonly total: number
  readonly page: number
  readonly limit: number
  readonly totalPages: number
}

export interface PagedResultProps<Data> {
  readonly query: Query<Data>
  /** What is loaded, if it is not the plural of `one`. */
  readonly what?: string
  /** How many lines the placeholder has. */
  readonly rows: number
  readonly one: string
  readonly many?: string
  /** The page in the address; the one shown may still be the page before. */
  readonly current: number
  /** Another page, another size of pages, which begins at the first one, or, for neither, the first page. */
  readonly changePage: (to: { readonly page?: number; readonly limit?: number }) => void
  /** Undefined where no filter is set. */
  readonly clearFilters?: (() => void) | undefined
  /** What to do where there is nothing at all yet. */
  readonly hint: string
  /** What is searched by, where what was typed is refused: nothing is shown then, since nothing was searched for. */
  readonly refused?: string | false
  /** What to say where filters match nothing, instead of the usual words. */
  readonly noMatch?: string | undefined
  /** Between the list and the pager. */
  readonly bar?: ReactNode
  readonly children: (page: Data) => ReactNode
}

export function PagedResult<Data extends PageData>(props: PagedResultProps<Data>) {
  const { query, one, many = `${one}s`, what = many, rows, current, changePage, clearFilters, hint, bar } = props
  if (props.refused)
    return <Empty title="Nothing was searched for" description={`Search for ${props.refused} instead.`} />
  return (
    <QueryResult
      query={query}
      what={what}
      rows={rows}
      errorAction={clearFilters && <ClearFilters onClick={clearFilters} />}
    >
      {(page) => (
        <>
          <MaybeOutdated query={query}>
            {page.items.length === 0 ? (
              <EmptyPage
                one={one}
                many={many}
                total={page.total}
                toFirstPage={() => changePage({})}
                clearFilters={clearFilters}
                hint={hint}
                noMatch={props.noMatch}
              />
            ) : (
              props.children(page)
            )}
          </MaybeOutdated>
          {bar}
          <Pager
            page={page}
            current={current}
            one={one}
            many={many}
            onPage={(number) => changePage({ page: number })}
            onLimit={(limit) => changePage({ limit })}
          />
        </>
      )}
    </QueryResult>
  )
}
