// The search parameters of the list of bulk operations: its page.
import { defineList } from '../search/list-definition.ts'

export const operationList = defineList({ to: '/history/operations', filters: {} })
