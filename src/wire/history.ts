// The history as it is sent and printed.
import type { Page } from '../tokens/model/page.ts'
import { toTime } from '../tokens/model/times.ts'
import type { SentRow } from '../tokens/ports.ts'
import type { Facts, HistoryRow } from '../tokens/record/history.ts'

/** `names`: the present names of what `idsIn` finds. `positionOf`: the `seq` of a row as the caller may know it. */
export function historyToWire(
  page: Page<HistoryRow>,
  names: ReadonlyMap<string, string>,
  positionOf: (row: HistoryRow) => number | string,
) {
  const items = page.items.map((row) => entryToWire(row, positionOf(row)))
  return { ...page, items, names: Object.fromEntries(names) }
}

/** The ids that the rows mention. */
export function idsIn({ items }: Page<HistoryRow>): readonly string[] {
  return [...new Set(items.flatMap(({ by, subject, to }) => [by, subject, String(to.subAccountId ?? '')]))]
}

export function entryToWire<Row extends SentRow>(row: Row, seq: number | string) {
  const { at, by, byName, subject, subjectName, from, to, requestId, address } = row
  const facts = { from: withTimes(from), to: withTimes(to) }
  return {
    seq,
    at: toTime(at),
    by,
    byName,
    action: row.action as Row['action'],
    subject,
    subjectName,
    ...facts,
    requestId,
    address,
  }
}

/** Formats the facts whose names say that they are times. */
function withTimes(facts: Facts): Facts {
  const shown = Object.entries(facts).map(([name, value]) =>
    typeof value === 'number' && /(At|Until)$/.test(name) ? [name, toTime(value)] : [name, value],
  )
  return Object.fromEntries(shown)
}
