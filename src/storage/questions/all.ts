// Every question that the store answers, pages of tokens aside: those are of the engines' own memory.
import { accountQuestions } from './accounts.ts'
import { bulkQuestions } from './bulk.ts'
import { historyQuestions } from './history.ts'
import { limitQuestions } from './limits.ts'
import { peopleQuestions } from './people.ts'
import { portalQuestions } from './portal.ts'
import { subAccountQuestions } from './sub-accounts.ts'
import { tokenQuestions } from './tokens.ts'
import { upkeepQuestions } from './upkeep.ts'
import { usageQuestions } from './usage.ts'
import { verifierQuestions } from './verifiers.ts'
import { webhookQuestions } from './webhooks.ts'

export const QUESTIONS = {
  ...accountQuestions,
  ...bulkQuestions,
  ...historyQuestions,
  ...limitQuestions,
  ...peopleQuestions,
  ...portalQuestions,
  ...subAccountQuestions,
  ...tokenQuestions,
  ...upkeepQuestions,
  ...usageQuestions,
  ...verifierQuestions,
  ...webhookQuestions,
}
