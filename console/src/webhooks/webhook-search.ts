// The search parameters of the list of webhooks: its page.
import { defineList } from '../search/list-definition.ts'

export const webhookList = defineList({ to: '/webhooks', filters: {} })
