// The search parameters of a list: its filters, and the place in it. A list states each of its filters once: how the address
// has it, and what the service is asked for. Without React and the router, so that data can be asked for before they have arrived.
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

interface Definition<Of extends Filters, Others extends Shape> {
  readonly to:
    | '/history'
    | '/keys'
    | '/history/operations'
    | '/people'
    | '/sub-accounts'
    | '/tokens'
    | '/verifiers'
    | '/webhooks'
  readonly filters: Of
  /** Parameters of the view that ask for nothing. */
  readonly others?: Others
}

/** What the view of a list needs of it. */
export interface ListDefinition<Found> {
  readonly to: Definition<Filters, Shape>['to']
  readonly read: (raw: Raw) => Found
  readonly none: object
  readonly isFiltered: (search: Found) => boolean
}

export function defineList<Of extends Filters, Others extends Shape = Record<never, never>>(
  definition: Definition<Of, Others>,
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

  return {
    to,
    read,
    none,
    paramsOf,
    isFiltered: (search: Search<Of>) => names.some((name) => search[name] !== undefined),
  }
}
