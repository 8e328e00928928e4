// Tokens that can probably go, each kind as a link to the list of them.
import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import type { TokenFilters } from '../tokens/token-filters.ts'
import { number } from '../ui/format.ts'
import text from '../ui/text.module.css'
import { Panel } from './panel.tsx'

interface Kind {
  readonly label: string
  readonly search: TokenFilters
  /** Where the overview counts them. */
  readonly count?: keyof Overview['tokens']
}

const KINDS: readonly Kind[] = [
  { label: 'Never used', search: { used: 'never' }, count: 'neverUsed' },
  { label: 'Unused for 90 days', search: { idle: '90' }, count: 'idle' },
  { label: 'Expired', search: { effectiveStatus: 'expired' }, count: 'expired' },
  { label: 'Sub-account suspended for 30 days', search: { suspendedFor: '30' } },
]

export function CleanUp({ tokens }: Pick<Overview, 'tokens'>) {
  return (
    <Panel title="Clean up" note="Tokens that can probably go.">
      <Group component="ul" gap="6px 20px">
        {KINDS.map(({ label, search, count }) => (
          <li key={label}>
            <Link to="/tokens" search={search} className={text.link}>
              {label}
            </Link>
            {count !== undefined && <span className={text.dim}> {number(tokens[count])}</span>}
          </li>
        ))}
      </Group>
    </Panel>
  )
}
