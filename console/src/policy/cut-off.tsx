// What a change of a sub-account's policy would cut off, shown before it is saved.
import { Link } from '@tanstack/react-router'
import type { PolicyImpact } from '../../../client/latchkey-client.ts'
import { number, plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { Warning } from '../ui/warning.tsx'

type Loss = PolicyImpact['sample'][number]['losses'][number]

const LOSSES: Readonly<Record<Loss['reason'], Readonly<Record<Loss['extent'], string>>>> = {
  lifetime: { all: 'ends at once', some: 'ends at once' },
  address: { all: 'works from no address any more', some: 'works from fewer addresses' },
  scope: { all: 'has no scope left', some: 'loses scopes' },
}

export function CutOff({ impact }: { impact: PolicyImpact }) {
  const { active, examined, affected, inUse, sample } = impact
  return (
    <Warning role="status">
      This takes something from {plural(affected, 'token')} of {number(examined)},{' '}
      {inUse === 0 ? 'none of which was used within a week.' : `${number(inUse)} of them used within a week.`}
      {examined < active && ` Only the newest ${number(examined)} of ${number(active)} active ones were looked at.`}
      <ul aria-label="Tokens that lose something">
        {sample.map(({ _id, name, lastUsedAt, losses }) => (
          <li key={_id}>
            <Link to="/tokens/$tokenId" params={{ tokenId: _id }} target="_blank" className={text.plainLink}>
              <Name>{name}</Name>
            </Link>{' '}
            {losses.map(({ reason, extent }) => LOSSES[reason][extent]).join(' and ')}; last used{' '}
            <RelativeTime at={lastUsedAt} none="never" />
          </li>
        ))}
      </ul>
      {affected > sample.length && `and ${plural(affected - sample.length, 'other token')}.`}
    </Warning>
  )
}
