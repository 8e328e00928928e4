// The search parameters of the list of signed-in people: its page.
import { defineList } from '../search/list-definition.ts'

export const peopleList = defineList({ to: '/people', filters: {} })
