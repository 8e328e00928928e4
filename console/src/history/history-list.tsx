// History entries under the days they belong to.
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { Icon, type IconName } from '../icon.tsx'
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
              <li key={entry.seq} className="entry">
                <span className="entry-icon">
                  <Icon name={iconOf(entry)} />
                </span>
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

function iconOf({ action, to }: HistoryEntry): IconName {
  if (action === 'token.delete' || action === 'key.revoke') return 'trash'
  if (action === 'token.rotate') return 'rotate'
  if (action === 'key.create') return 'key'
  if (to.status !== undefined && action === 'token.update') return 'power'
  if (to.suspendedAt !== undefined) return 'power'
  return action.endsWith('.create') ? 'plus' : 'pencil'
}
