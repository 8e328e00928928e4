// Records as the command line prints them, with the field names of the API.
import { type Json, shownJson } from '../tokens/model/fields.ts'
import { toTime, toTimeOrNull } from '../tokens/model/times.ts'
import type { Account, AccountKey, SubAccount, SubAccountRow, Token } from '../tokens/model/token.ts'
import type { TokenRow } from '../tokens/ports.ts'
import type { historyToWire } from '../wire/history.ts'

export type View = Readonly<Record<string, Json>>

export function account({ id, name, createdAt, credentials }: Account): View {
  return { _id: id, name, createdAt: toTime(createdAt), credentials: credentials ?? 'recoverable' }
}

export function newKey({ id, key, expiresAt }: AccountKey & { readonly key: string }): View {
  return { _id: id, key, expiresAt: toTimeOrNull(expiresAt) }
}

export function subAccount({ id, name, email, companyName, createdAt, suspendedAt }: SubAccount): View {
  const status = suspendedAt === null ? 'active' : 'suspended'
  const times = { createdAt: toTime(createdAt), suspendedAt: toTimeOrNull(suspendedAt) }
  return { _id: id, name, email, companyName, status, ...times }
}

type ShownToken = Pick<Token, 'id' | 'name' | 'credential' | 'status' | 'createdAt' | 'subAccount'>

export function token({ id, name, credential, status, createdAt, subAccount }: ShownToken): View {
  const { id: _id, name: subAccountName, email, companyName } = subAccount
  return {
    _id: id,
    name,
    token: credential,
    status,
    createdAt: toTime(createdAt),
    subAccount: { _id, name: subAccountName, email, companyName },
  }
}

export function subAccountRow({ subAccount: owner, tokens }: SubAccountRow): View {
  return { ...subAccount(owner), tokens: { ...tokens } }
}

/** Without the credential. */
export function listedToken({ token, subAccount: { id, name } }: TokenRow): View {
  return {
    _id: token.id,
    name: token.name,
    status: token.status,
    createdAt: toTime(token.createdAt),
    expiresAt: toTimeOrNull(token.expiresAt),
    subAccount: { _id: id, name },
  }
}

/** With what the lists leave out. */
export function detailedToken(row: TokenRow): View {
  const { tags, metadata, policy } = row.token
  return { ...listedToken(row), tags: shownJson(tags) ?? [], metadata: shownJson(metadata), policy: shownJson(policy) }
}

export function detailedSubAccount(row: SubAccount): View {
  return { ...subAccount(row), metadata: shownJson(row.metadata), policy: shownJson(row.policy) }
}

/** For people; JSON output has the entry itself. */
type HistoryEntry = ReturnType<typeof historyToWire>['items'][number]

export function historyRow(entry: HistoryEntry): Readonly<Record<string, string>> {
  const { at, by, action, subject, from, to } = entry
  const shown = (value: unknown) =>
    value !== null && typeof value === 'object' ? JSON.stringify(value) : (value ?? '-')
  const change = Object.keys({ ...from, ...to }).map((name) => `${name}: ${shown(from[name])} → ${shown(to[name])}`)
  return { at, by, action, subject, change: change.join(', ') }
}
