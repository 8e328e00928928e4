// The search parameters of the list of signed-in people: the place in it.
import { defineList } from '../search/list-definition.ts'

export const peopleList = defineList({ to: '/people', filters: {} })
