// Every table of the store.
import { BULK_OPERATIONS, BULK_PARTS } from '../bulk/tables.ts'
import { number, type Table, table, text } from '../model/table.ts'
import {
  ACCOUNT_KEYS,
  ACCOUNTS,
  HISTORY,
  HISTORY_HEADS,
  IDEMPOTENCY_KEYS,
  LIMITS,
  PORTAL_SESSIONS,
  RETIRED_CREDENTIALS,
  SESSIONS,
  SPENT_SIGN_INS,
  SUB_ACCOUNTS,
  TOKENS,
  VAULT,
  VERIFIERS,
} from '../model/tables.ts'
import { RECENT_VERIFICATIONS, USAGE_BUSIEST, USAGE_DAYS, USAGE_HOURS, USAGE_REPORTS } from '../usage/tables.ts'
import { WEBHOOK_DELIVERIES, WEBHOOKS } from '../webhooks/tables.ts'

/** In an order in which every row comes after the rows that it refers to. Counts and search indexes are made from these. */
export const STORED: readonly Table[] = [
  VAULT,
  table({ name: 'retiredMasterKeys', key: ['keyId'], fields: { keyId: text, retiredAt: number } }),
  ACCOUNTS,
  ACCOUNT_KEYS,
  SESSIONS,
  SPENT_SIGN_INS,
  PORTAL_SESSIONS,
  VERIFIERS,
  SUB_ACCOUNTS,
  TOKENS,
  RETIRED_CREDENTIALS,
  table({ name: 'lastUsed', key: ['tokenId'], fields: { tokenId: text, at: number } }),
  USAGE_HOURS,
  USAGE_DAYS,
  USAGE_BUSIEST,
  USAGE_REPORTS,
  RECENT_VERIFICATIONS,
  LIMITS,
  IDEMPOTENCY_KEYS,
  WEBHOOKS,
  WEBHOOK_DELIVERIES,
  BULK_OPERATIONS,
  BULK_PARTS,
  HISTORY,
  HISTORY_HEADS,
]
