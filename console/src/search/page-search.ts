// The search parameters of a list that has no filters: the place in the list.
import { paging, readSearch, type Search } from './search-params.ts'

export const readPageSearch = (raw: Readonly<Record<string, unknown>>): Search<typeof paging> => readSearch(paging, raw)
