// The history as it is sent and printed.
import type { Page } from '../tokens/model/page.ts'
import { toTime } from '../tokens/model/times.ts'
import type { SentRow } from '../tokens/ports.ts'
import type { Facts, ListedHistoryRow } from '../tokens/record/history.ts'

/** `names`: the present names of what `idsIn` finds. `positionOf`: the `seq` of a row as the caller may know it. */
export function historyToWire(
  page: Page<ListedHistoryRow>,
  names: ReadonlyMap<string, string>,
  positionOf: (row: ListedHistoryRow) => number | string,
) {
  const items = page.items.map((row) => entryToWire(row, positionOf(row), names))
  return { ...page, items, names: Object.fromEntries(names) }
}

/** The ids that the rows mention. */
export function idsIn({ items }: Page<ListedHistoryRow>): readonly string[] {
  return [...new Set(items.flatMap((row) => [row.by, row.subject, row.subAccountId ?? '']))]
}

function entryToWire(row: ListedHistoryRow, seq: number | string, names: ReadonlyMap<string, string>) {
  return { ...eventToWire(row, seq), subAccount: subAccountOf(row, names) }
}

/** What the entry is about, or whose token that is. */
function subAccountOf({ action, subject, subAccountId }: ListedHistoryRow, names: ReadonlyMap<string, string>) {
  const _id = action.startsWith('sub-account.') ? subject : subAccountId
  const name = _id === null ? undefined : names.get(_id)
  return _id === null || name === undefined ? null : { _id, name }
}

/** An entry as events have it. */
export function eventToWire<Row extends SentRow>(row: Row, seq: number | string) {
  const { at, by, byName, subject, subjectName, from, to, requestId, address } = row
  const action: Row['action'] = row.action
  const facts = { from: withTimes(from), to: withTimes(to) }
  return { seq, at: toTime(at), by, byName, action, subject, subjectName, ...facts, requestId, address }
}

/** Formats the facts whose names say that they are times. */
function withTimes(facts: Facts): Facts {
  const shown = Object.entries(facts).map(([name, value]) =>
    typeof value === 'number' && /(At|Until)$/.test(name) ? [name, toTime(value)] : [name, value],
  )
  return Object.fromEntries(shown)
}
