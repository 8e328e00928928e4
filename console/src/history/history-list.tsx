// History entries under the days they belong to.
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { When } from '../parts.tsx'
import { day } from '../words.ts'
import { type Names, Sentence } from './sentence.tsx'

export function HistoryList({ entries, names }: { entries: readonly HistoryEntry[]; names: Names }) {
  const days = Map.groupBy(entries, ({ at }) => day(at))
  return (
    <div className="history">
      {[...days].map(([date, list]) => (
        <section key={date} aria-label={date}>
          <h2>{date}</h2>
          <ol>
            {list.map((entry) => (
              <li key={entry.seq} className={`entry entry-${entry.action.split('.').at(-1)}`}>
                <p>
                  <Sentence entry={entry} names={names} />
                </p>
                <p className="dim entry-meta">
                  <When at={entry.at} />
                  {entry.address !== null && <span> · from {entry.address}</span>}
                  {entry.requestId !== null && <span className="request-id"> · request {entry.requestId}</span>}
                </p>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </div>
  )
}
