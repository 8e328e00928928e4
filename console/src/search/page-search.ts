// The search parameters of a list that has no filters: the place in the list.
import { paging, readSearch, type Search } from './search-params.ts'

type PageSearch = Search<typeof paging>

export const readPageSearch = (raw: Readonly<Record<string, unknown>>): PageSearch => readSearch(paging, raw)

/** Another page has the same size; another size starts at the first page. */
export const movedTo = (search: PageSearch, place: PageSearch): PageSearch =>
  place.page === undefined ? place : { ...search, ...place }
