// The search parameters of the address, typed. A view states each of its parameters once, as a Param.

export interface Param<Value> {
  /** All values with the parameter's name, in their order; undefined for what is not a value of it. */
  readonly read: (values: readonly string[]) => Value | undefined
}

type Shape = Readonly<Record<string, Param<unknown>>>

export type Search<Of extends Shape> = {
  readonly [Name in keyof Of]?: (Of[Name] extends Param<infer Value> ? Value : never) | undefined
}

/** Reads an address that a person may have edited: what is not understood counts as absent, and nothing throws. */
export function readSearch<Of extends Shape>(shape: Of, raw: Readonly<Record<string, unknown>>): Search<Of> {
  const search: Record<string, unknown> = {}
  for (const [name, param] of Object.entries(shape)) {
    const values = [raw[name]].flat().filter((value) => value !== undefined)
    const value = param.read(values.map(String))
    if (value !== undefined) search[name] = value
  }
  return search as Search<Of>
}

export const text: Param<string> = { read: ([value]) => value || undefined }

export function oneOf<const Value extends string>(...allowed: readonly Value[]): Param<Value> {
  return { read: ([value]) => allowed.find((each) => each === value) }
}

/** A parameter that may be repeated, such as `?tag=a&tag=b`. */
export function many<Value>(param: Param<Value>): Param<readonly Value[]> {
  return {
    read(values) {
      const read = values.map((value) => param.read([value])).filter((value) => value !== undefined)
      return read.length === 0 ? undefined : read
    },
  }
}

/** The usual value counts as absent, so that one state has one address. */
function wholeNumber({ usual, max }: { usual: number; max: number }): Param<number> {
  return {
    read([value = '']) {
      const number = /^[0-9]{1,10}$/.test(value) ? Number(value) : 0
      return number >= 1 && number <= max && number !== usual ? number : undefined
    },
  }
}

/** A day of the calendar, such as `2026-01-31`. Date.parse alone would take the 31st of February for the 3rd of March. */
export const day: Param<string> = {
  read([value = '']) {
    const time = /^\d{4}-\d\d-\d\d$/.test(value) ? Date.parse(`${value}T00:00Z`) : Number.NaN
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(value) ? value : undefined
  },
}

const FIRST_PAGE = 1
const PAGE_SIZE = 25

/** The page of a list. */
export const paging = {
  page: wholeNumber({ usual: FIRST_PAGE, max: 2_147_483_647 }),
  limit: wholeNumber({ usual: PAGE_SIZE, max: 100 }),
} as const

export function pageOf({ page = FIRST_PAGE, limit = PAGE_SIZE }: Search<typeof paging>) {
  return { page, limit }
}

/** For the router: plain text values, a repeated name as an array. */
export function parseSearch(query: string): Record<string, string | string[]> {
  const params = new URLSearchParams(query)
  const search: Record<string, string | string[]> = {}
  for (const name of params.keys()) {
    const values = params.getAll(name)
    search[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return search
}

export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(search))
    for (const each of [value].flat()) if (each !== undefined && each !== '') params.append(name, String(each))
  return params.size === 0 ? '' : `?${params}`
}
