// The search parameters of a list: its filters, and its page. A list states each of its filters once: how the address
// has it, and what the service is asked for.
import { useNavigate, useSearch as useRouteSearch } from '@tanstack/react-router'
import { useCallback } from 'react'
import { type Param, paging, readSearch, type Search } from './search-params.ts'

interface Filter<Value, Params> extends Param<Value> {
  /** What the service is asked for. Ranges that move with the clock are computed at the time of the request. */
  readonly params: (value: Value, now: number) => Params
}

/** Of a list whose requests have these parameters. */
export const filterFor =
  <Params extends object>() =>
  <Value>(param: Param<Value>, params: Filter<Value, Params>['params']): Filter<Value, Params> => ({ ...param, params })

type Filters = Readonly<Record<string, Param<unknown> & { readonly params: (value: never, now: number) => object }>>
type Shape = Readonly<Record<string, Param<unknown>>>
type Raw = Readonly<Record<string, unknown>>

interface ListDefinition<Of extends Filters, Others extends Shape> {
  readonly to: '/history' | '/keys' | '/people' | '/sub-accounts' | '/tokens'
  readonly filters: Of
  /** Parameters of the view that ask for nothing. */
  readonly others?: Others
}

export function defineList<Of extends Filters, Others extends Shape = Record<never, never>>(
  definition: ListDefinition<Of, Others>,
) {
  type Found = Search<typeof paging> & Search<Of> & Search<Others>
  const { to, filters, others } = definition
  const names = Object.keys(filters) as (keyof Of & string)[]
  const none = Object.fromEntries(names.map((name) => [name, undefined])) as Search<Of>
  const read = (raw: Raw): Found => readSearch({ ...filters, ...others, ...paging }, raw) as Found

  function paramsOf(search: Search<Of>, now: number): ReturnType<Of[keyof Of]['params']> {
    const params = names.map((name) => {
      const value = search[name]
      return value === undefined ? {} : filters[name]?.params(value as never, now)
    })
    return Object.assign({}, ...params)
  }

  /** Another filter or page size starts at the first page. */
  function useSearch() {
    const found = useRouteSearch({ strict: false })
    const search = found as Found
    const navigate = useNavigate()
    const changeSearch = useCallback(
      (part: Found, how: 'push' | 'replace' = 'push') => {
        const next = (previous: Raw) => read({ ...previous, page: undefined, ...part })
        void navigate({ to, search: next, replace: how === 'replace' })
      },
      [navigate],
    )
    const isFiltered = names.some((name) => (search as Raw)[name] !== undefined)
    /** Undefined where no filter is set. */
    const clearFilters = isFiltered ? () => changeSearch(none as Found) : undefined
    return { search, changeSearch, clearFilters }
  }

  return { read, none, paramsOf, useSearch }
}
