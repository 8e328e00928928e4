// The search parameters of the account keys: the place in the list.
import { paging, readSearch, type Search } from '../search/search-params.ts'

export const readKeySearch = (raw: Readonly<Record<string, unknown>>): Search<typeof paging> => readSearch(paging, raw)
