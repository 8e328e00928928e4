// The lists that cannot be filtered: the address of each has its page alone.
import { defineList } from './list-definition.ts'

export const keyList = defineList({ to: '/keys', filters: {} })
export const operationList = defineList({ to: '/history/operations', filters: {} })
export const peopleList = defineList({ to: '/people', filters: {} })
export const verifierList = defineList({ to: '/verifiers', filters: {} })
export const webhookList = defineList({ to: '/webhooks', filters: {} })
