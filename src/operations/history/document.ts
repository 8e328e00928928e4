// The history as it is sent and printed.

import type { Facts, ListedHistoryRow } from '../../tokens/history/history.ts'
import type { Page } from '../../tokens/model/page.ts'
import { toTime } from '../../tokens/model/times.ts'
import type { SentRow } from '../../tokens/webhooks/ports.ts'

/** `names`: the present names of what `idsIn` finds. `positionOf`: the `seq` of a row as the caller may know it. */
export function historyToWire<Part extends Pick<Page<ListedHistoryRow>, 'items'>>(
  page: Part,
  names: ReadonlyMap<string, string>,
  positionOf: (row: ListedHistoryRow) => number | string,
) {
  const items = page.items.map((row) => entryToWire({ ...row, subAccount: subAccountOf(row, names) }, positionOf(row)))
  return { ...page, items, names: Object.fromEntries(names) }
}

/** The ids that the rows mention. */
export function idsIn({ items }: Pick<Page<ListedHistoryRow>, 'items'>): readonly string[] {
  return [...new Set(items.flatMap((row) => [row.by, row.subject, row.subAccountId ?? '']))]
}

/** What the entry is about, or whose token that is. */
function subAccountOf({ action, subject, subAccountId }: ListedHistoryRow, names: ReadonlyMap<string, string>) {
  const id = action.startsWith('sub-account.') ? subject : subAccountId
  const name = id === null ? undefined : names.get(id)
  return id === null || name === undefined ? null : { id, name }
}

/** As the history shows it, and as events have it. */
export function entryToWire<Row extends SentRow>(row: Row, seq: number | string) {
  const { at, by, byName, subject, subjectName, requestId, address } = row
  const action: Row['action'] = row.action
  const subAccount = row.subAccount && { _id: row.subAccount.id, name: row.subAccount.name }
  const facts = { from: withTimes(row.from), to: withTimes(row.to) }
  return { seq, at: toTime(at), by, byName, action, subject, subjectName, subAccount, ...facts, requestId, address }
}

/** Formats the facts whose names say that they are times. */
function withTimes(facts: Facts): Facts {
  const shown = Object.entries(facts).map(([name, value]) =>
    typeof value === 'number' && /(At|Until)$/.test(name) ? [name, toTime(value)] : [name, value],
  )
  return Object.fromEntries(shown)
}
