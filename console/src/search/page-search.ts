// The search parameters of a list that has no filters: the place in the list.
import { paging, readSearch } from './search-params.ts'

export const readPageSearch = (raw: Readonly<Record<string, unknown>>) => readSearch(paging, raw)
