// Tokens that can probably go, each kind as a link to the list of them.
import { Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { TokenFilters } from '../tokens/token-filters.ts'
import text from '../ui/text.module.css'
import { Panel } from './panel.tsx'

const KINDS: readonly (readonly [label: string, search: TokenFilters])[] = [
  ['Never used', { used: 'never' }],
  ['Unused for 90 days', { idle: '90' }],
  ['Expired', { effectiveStatus: 'expired' }],
  ['Sub-account suspended for 30 days', { suspendedFor: '30' }],
]

export function CleanUp() {
  return (
    <Panel title="Clean up" note="Tokens that can probably go.">
      <Group component="ul" gap="6px 20px">
        {KINDS.map(([label, search]) => (
          <li key={label}>
            <Link to="/tokens" search={search} className={text.link}>
              {label}
            </Link>
          </li>
        ))}
      </Group>
    </Panel>
  )
}
