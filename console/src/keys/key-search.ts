// The search parameters of the list of account keys: its page.
import { defineList } from '../search/list-definition.ts'

export const keyList = defineList({ to: '/keys', filters: {} })
