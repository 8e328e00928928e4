// The operations that commands call, and the lists that they print as CSV.
import type { Operations } from '../../client/operations.ts'
import * as bulk from '../operations/bulk/answers.ts'
import * as history from '../operations/history/answers.ts'
import { exportHistory } from '../operations/history/export.ts'
import * as keys from '../operations/keys/answers.ts'
import { exportKeys } from '../operations/keys/export.ts'
import * as leaks from '../operations/leaks/answers.ts'
import * as limits from '../operations/limits/answers.ts'
import type { Answer, Service } from '../operations/operation.ts'
import * as subAccounts from '../operations/sub-accounts/answers.ts'
import { exportSubAccounts } from '../operations/sub-accounts/export.ts'
import * as tokens from '../operations/tokens/answers.ts'
import { exportTokens } from '../operations/tokens/export.ts'
import * as usage from '../operations/usage/answers.ts'
import * as verifiers from '../operations/verifiers/answers.ts'
import * as webhooks from '../operations/webhooks/answers.ts'

export const ANSWERS = {
  ...bulk,
  ...history,
  ...keys,
  ...leaks,
  ...limits,
  ...subAccounts,
  ...tokens,
  ...usage,
  ...verifiers,
  ...webhooks,
}
type Answers = typeof ANSWERS

/** Those that need nothing that only a running server has. */
export type CommandOperation = {
  [Id in keyof Answers & keyof Operations]: Answers[Id] extends Answer<object, Service> ? Id : never
}[keyof Answers & keyof Operations]

export const EXPORTS = {
  listTokens: exportTokens,
  listSubAccounts: exportSubAccounts,
  listKeys: exportKeys,
  listAccountHistory: exportHistory,
  listTokenHistory: exportHistory,
}
export type ExportedList = keyof typeof EXPORTS
