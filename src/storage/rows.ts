// Rows of the database as records of the domain, and the columns that make them: the same names in both engines. They are
// named one by one: what PostgreSQL has prepared with a * fails as soon as somebody adds a column.

import type { Account, ListedToken, Status, SubAccount, TokenRecord } from '../tokens/model/token.ts'
import type { HistoryRow } from '../tokens/record/history.ts'
import type { StampedSubAccountRow, StoredKey, TokenRow } from '../tokens/store.ts'
import type { VaultRow } from '../tokens/trust/key-ring.ts'
import type { Stamped } from '../tokens/trust/stamp.ts'
import type { Candidate } from '../tokens/trust/verdict.ts'
import type { CopiedTable } from '../tokens/upkeep/copy.ts'

type Bytes = Uint8Array

export interface AccountColumns {
  id: string
  name: string
  created_at: number
}

export const toAccount = (row: AccountColumns): Account => ({ id: row.id, name: row.name, createdAt: row.created_at })

export const KEY_COLUMNS = 'id, account_id, name, digest, created_at, expires_at, revoked_at, stamp'

export interface KeyColumns {
  id: string
  account_id: string
  name: string
  digest: Bytes
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  stamp: Bytes
}

export const toKey = (row: KeyColumns): Stamped<StoredKey> => ({
  id: row.id,
  accountId: row.account_id,
  name: row.name,
  digest: row.digest,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  stamp: row.stamp,
})

export const OWNER_COLUMNS = `
  s.id AS s_id, s.account_id AS s_account_id, s.name AS s_name, s.email AS s_email, s.company_name AS s_company_name,
  s.created_at AS s_created_at, s.suspended_at AS s_suspended_at`

export const SUB_ACCOUNT_COLUMNS = `${OWNER_COLUMNS}, s.stamp AS s_stamp`

export interface SubAccountColumns {
  s_id: string
  s_account_id: string
  s_name: string
  s_email: string
  s_company_name: string
  s_created_at: number
  s_suspended_at: number | null
  s_stamp: Bytes
}

/** Without its stamp. */
export const toOwner = (row: Omit<SubAccountColumns, 's_stamp'>): SubAccount => ({
  id: row.s_id,
  accountId: row.s_account_id,
  name: row.s_name,
  email: row.s_email,
  companyName: row.s_company_name,
  createdAt: row.s_created_at,
  suspendedAt: row.s_suspended_at,
})

export const toSubAccount = (row: SubAccountColumns): Stamped<SubAccount> => ({ ...toOwner(row), stamp: row.s_stamp })

export const COUNT_COLUMNS = `
  coalesce((SELECT count FROM token_counts WHERE scope = s.id AND status = 'active'), 0) AS active,
  coalesce((SELECT count FROM token_counts WHERE scope = s.id AND status = 'inactive'), 0) AS inactive`

export type SubAccountRowColumns = SubAccountColumns & Record<Status, number>

export const toSubAccountRow = (row: SubAccountRowColumns): StampedSubAccountRow => ({
  subAccount: toSubAccount(row),
  tokens: { active: row.active, inactive: row.inactive },
})

export const TOKEN_COLUMNS = `
  t.id, t.account_id, t.sub_account_id, t.name, t.status, t.created_at, t.expires_at, t.version, t.digest,
  t.sealed, t.stamp`

export interface TokenColumns {
  id: string
  account_id: string
  sub_account_id: string
  name: string
  status: Status
  created_at: number
  expires_at: number | null
  version: number
  digest: Bytes
  sealed: Bytes
  stamp: Bytes
}

const toListed = (row: Omit<TokenColumns, 'digest' | 'stamp'>): ListedToken => ({
  id: row.id,
  accountId: row.account_id,
  subAccountId: row.sub_account_id,
  name: row.name,
  status: row.status,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  version: row.version,
  sealed: row.sealed,
})

export const toToken = (row: TokenColumns): Stamped<TokenRecord> => ({
  ...toListed(row),
  digest: row.digest,
  stamp: row.stamp,
})

/** What verification reads: a narrow row, since it is read more often than all others together. */
export const CANDIDATE_COLUMNS = `
  t.id, t.account_id, t.sub_account_id, t.status, t.created_at, t.expires_at, t.version, t.digest, t.stamp,
  s.account_id AS s_account_id, s.suspended_at AS s_suspended_at, s.stamp AS s_stamp`

export type CandidateColumns = Omit<TokenColumns, 'name' | 'sealed'> &
  Pick<SubAccountColumns, 's_account_id' | 's_suspended_at' | 's_stamp'>

export const toCandidate = (row: CandidateColumns): Omit<Candidate, 'retired'> => ({
  token: {
    id: row.id,
    accountId: row.account_id,
    subAccountId: row.sub_account_id,
    status: row.status,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    version: row.version,
    digest: row.digest,
    stamp: row.stamp,
  },
  subAccount: {
    id: row.sub_account_id,
    accountId: row.s_account_id,
    suspendedAt: row.s_suspended_at,
    stamp: row.s_stamp,
  },
})

export const TOKEN_ROW_COLUMNS = `${TOKEN_COLUMNS}, ${SUB_ACCOUNT_COLUMNS}`

export type TokenRowColumns = TokenColumns & SubAccountColumns

export type StampedTokenRow = TokenRow & { readonly token: Stamped<TokenRecord> }

export const toTokenRow = (row: TokenRowColumns): StampedTokenRow => ({
  token: toToken(row),
  subAccount: toSubAccount(row),
})

/** What lists show: nothing that only verification and changes need. */
export const LISTED_COLUMNS = `
  t.id, t.account_id, t.sub_account_id, t.name, t.status, t.created_at, t.expires_at, t.version, t.sealed,
  ${OWNER_COLUMNS}`

export type ListedColumns = Omit<TokenColumns, 'digest' | 'stamp'> & Omit<SubAccountColumns, 's_stamp'>

export const toListedRow = (row: ListedColumns): TokenRow => ({
  token: toListed(row),
  subAccount: toOwner(row),
})

/** What a change answers with is what a list would show. */
export function asListed({ token, subAccount }: { token: TokenRecord; subAccount: SubAccount }): TokenRow {
  const { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed } = token
  const listed = { id, accountId, subAccountId, name, status, createdAt, expiresAt, version, sealed }
  return { token: listed, subAccount }
}

export const HISTORY_COLUMNS = `
  account_id, seq, at, by, by_name, action, subject, subject_name, token_id, from_facts, to_facts, request_id, address, stamp`

export interface HistoryColumns {
  account_id: string
  seq: number
  at: number
  by: string
  by_name: string | null
  action: HistoryRow['action']
  subject: string
  subject_name: string | null
  token_id: string | null
  from_facts: string
  to_facts: string
  request_id: string | null
  address: string | null
  stamp: Bytes
}

export const toHistoryRow = (row: HistoryColumns): Stamped<HistoryRow> => ({
  accountId: row.account_id,
  seq: row.seq,
  at: row.at,
  by: row.by,
  byName: row.by_name,
  action: row.action,
  subject: row.subject,
  subjectName: row.subject_name,
  tokenId: row.token_id,
  from: JSON.parse(row.from_facts),
  to: JSON.parse(row.to_facts),
  requestId: row.request_id,
  address: row.address,
  stamp: row.stamp,
})

export interface VaultColumns {
  key_id: string
  sealed_secret: Bytes
  seals: number | boolean
}

export const toVaultRow = (row: VaultColumns): VaultRow => ({
  keyId: row.key_id,
  sealedSecret: row.sealed_secret,
  seals: Boolean(row.seals),
})

/** For rows as they are stored: the domain's names of tables and fields, in the database's spelling. */
export const columnOf = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
export const tableOf = ({ name }: CopiedTable) => columnOf(name)
export const selectList = ({ fields }: CopiedTable) =>
  Object.keys(fields)
    .map((field) => `${columnOf(field)} AS "${field}"`)
    .join(', ')
