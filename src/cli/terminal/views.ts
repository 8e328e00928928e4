// Documents as people see them, and what scripts get beyond the documents of the API.
import type { HistoryEntry, RecentVerifications, SubAccount, Token, Usage } from '../../../client/latchkey-client.ts'
import type { Json } from '../../tokens/model/fields.ts'
import { toTime, toTimeOrNull } from '../../tokens/model/times.ts'
import type { Account } from '../../tokens/model/token.ts'
import type { TokenRow } from '../../tokens/service/ports.ts'
import type { Row } from './output.ts'

export type View = Readonly<Record<string, Json>>

export function account({ id, name, createdAt, credentials }: Account): View {
  return { _id: id, name, createdAt: toTime(createdAt), credentials: credentials ?? 'recoverable' }
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

/** For scripts: some of the details also where commands had them before there were details. */
export function detailedToken(token: Token) {
  const { expiresAt = null, tags = [], metadata = null, policy = null } = token.details ?? {}
  return { ...token, expiresAt, tags, metadata, policy }
}

export function tokenFields({ details, ...token }: Token): Row {
  return toRow({ ...token, ...details })
}

export function tokenRow({ _id, name, status, createdAt, details, subAccount }: Token): Row {
  return toRow({ _id, name, status, createdAt, expiresAt: details?.expiresAt, subAccount })
}

export function subAccountRow({ policy: _policy, metadata: _metadata, ...subAccount }: SubAccount): Row {
  return toRow(subAccount)
}

export function historyRow({ at, by, action, subject, from, to }: HistoryEntry): Row {
  const shown = (value: unknown) =>
    value !== null && typeof value === 'object' ? JSON.stringify(value) : (value ?? '-')
  const change = Object.keys({ ...from, ...to }).map((name) => `${name}: ${shown(from[name])} → ${shown(to[name])}`)
  return { at, by, action, subject, change: change.join(', ') }
}

const refusedIn = ({ refused }: Usage['buckets'][number]): number =>
  Object.values(refused).reduce((sum, count) => sum + count, 0)

export function usageTitle({ buckets }: Usage): string {
  const accepted = buckets.reduce((sum, bucket) => sum + bucket.accepted, 0)
  const refused = buckets.reduce((sum, bucket) => sum + refusedIn(bucket), 0)
  return `${accepted} accepted, ${refused} refused`
}

/** Both lists as one, newest first. */
export function recentRows({ accepted, refused }: RecentVerifications): readonly Row[] {
  const rows = [
    ...accepted.map(({ at, address }) => ({ at, verdict: 'accepted', address })),
    ...refused.map(({ at, address, reason }) => ({ at, verdict: `refused: ${reason}`, address })),
  ]
  return rows.sort((one, other) => (one.at < other.at ? 1 : -1))
}

const BAR_CHARACTERS = 40

/** A line for each hour or day; on a terminal with a bar, as long as its share of the largest. */
export function usageRows({ per, buckets }: Usage, hasBars: boolean): readonly Row[] {
  const largest = Math.max(1, ...buckets.map((bucket) => bucket.accepted + refusedIn(bucket)))
  const lengthOf = (count: number) => Math.ceil((count / largest) * BAR_CHARACTERS)
  return buckets.map((bucket) => {
    const { from, accepted, refused } = bucket
    const reasons = Object.entries(refused).filter(([, count]) => count > 0)
    const bar = { graph: '█'.repeat(lengthOf(accepted)) + '░'.repeat(lengthOf(refusedIn(bucket))) }
    return {
      [per]: per === 'hour' ? from.slice(0, 13).replace('T', ' ') : from.slice(0, 10),
      accepted,
      refused: reasons.map(([reason, count]) => `${count} ${reason}`).join(', ') || 0,
      ...(hasBars && bar),
    }
  })
}

/** A sub-account is shown by its name, counts of tokens as a list, all else as JSON, such as metadata of any shape. */
export function toRow(document: object): Row {
  const cell = (name: string, value: unknown) => {
    if (typeof value === 'boolean') return value ? 'yes' : 'no'
    if (value === null || value === undefined || typeof value === 'number') return value
    if (typeof value !== 'object') return String(value)
    if (name === 'subAccount' && 'name' in value) return String(value.name)
    if (name !== 'tokens') return JSON.stringify(value)
    return Object.entries(value)
      .map(([status, count]) => `${count} ${status}`)
      .join(', ')
  }
  return Object.fromEntries(Object.entries(document).map(([name, value]) => [name, cell(name, value)]))
}
