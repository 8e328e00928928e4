// The search parameters of the list of verifiers: its page.
import { defineList } from '../search/list-definition.ts'

export const verifierList = defineList({ to: '/verifiers', filters: {} })
