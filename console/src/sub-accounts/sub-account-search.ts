// The search parameters of the sub-account list.
import { paging, readSearch, text } from '../search/search-params.ts'

const PARAMS = { search: text, ...paging }

export const readSubAccountSearch = (raw: Readonly<Record<string, unknown>>) => readSearch(PARAMS, raw)
