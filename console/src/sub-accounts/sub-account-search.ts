// The search parameters of the sub-account list.
import type { SubAccountListParams } from '../api/queries.ts'
import { defineList, filterFor } from '../search/list-definition.ts'
import { text } from '../search/search-params.ts'

const filter = filterFor<SubAccountListParams>()

export const subAccountList = defineList({
  to: '/sub-accounts',
  filters: { search: filter(text, (search) => ({ search })) },
})
