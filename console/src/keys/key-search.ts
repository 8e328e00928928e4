// The search parameters of the list of account keys: the place in it.
import { defineList } from '../search/list-definition.ts'

export const keyList = defineList({ to: '/keys', filters: {} })
