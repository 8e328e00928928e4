// All operations, in the order of the API description.
import { account } from './account/description.ts'
import { bulk } from './bulk/description.ts'
import { history } from './history/description.ts'
import { keys } from './keys/description.ts'
import { leaks } from './leaks/description.ts'
import { limits } from './limits/description.ts'
import type { Operation } from './operation.ts'
import { people } from './people/description.ts'
import { portal } from './portal/description.ts'
import { subAccounts } from './sub-accounts/description.ts'
import { tokens } from './tokens/description.ts'
import { usage } from './usage/description.ts'
import { verifiers } from './verifiers/description.ts'
import { webhooks } from './webhooks/description.ts'

const { explainToken, previewPolicy } = limits

export const operations: readonly Operation[] = Object.values({
  ...tokens,
  explainToken,
  ...bulk,
  ...history,
  ...usage,
  ...account,
  ...keys,
  ...leaks,
  ...webhooks,
  ...people,
  ...subAccounts,
  previewPolicy,
  ...portal,
  ...verifiers,
})
