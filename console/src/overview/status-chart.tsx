// All tokens by what verification would say, as a ring with a legend of links.
import { Box, Group, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import type { TokenFilters } from '../tokens/token-filters.ts'
import { number, plural } from '../ui/format.ts'
import type { Status } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { Panel } from './panel.tsx'

interface Slice {
  readonly status: Status
  readonly count: number
  readonly search: TokenFilters
}

/** Slices that exclude each other and add up to all tokens. */
function slicesOf({ active, inactive, expired, suspended }: Overview['tokens']): readonly Slice[] {
  return [
    { status: 'active', count: active - expired - suspended, search: { effectiveStatus: 'active' } },
    { status: 'suspended', count: suspended, search: { effectiveStatus: 'suspended' } },
    { status: 'expired', count: expired, search: { effectiveStatus: 'expired' } },
    { status: 'inactive', count: inactive, search: { status: 'inactive' } },
  ]
}

const colorOf = (status: Status): string => `var(--color-${status})`

export function StatusChart({ tokens }: { tokens: Overview['tokens'] }) {
  const total = tokens.active + tokens.inactive
  const slices = slicesOf(tokens)
  const share = (count: number): number => (count / total) * 100
  return (
    <Panel title="By status">
      <Group gap="16px 36px" pt={8}>
        <Ring slices={slices} total={total} />
        <Stack component="ul" gap={10}>
          {slices.map(({ status, count, search }) => (
            <Group component="li" key={status} justify="space-between" gap={20}>
              <Link to="/tokens" search={search} className={text.link} aria-label={plural(count, `${status} token`)}>
                <Box component="span" display="inline-block" w={10} h={10} mr={8} bdrs={3} bg={colorOf(status)} />
                <b>{number(count)}</b> {status}
              </Link>
              <span className={text.dim}>{total === 0 ? '' : `${Math.round(share(count))}%`}</span>
            </Group>
          ))}
        </Stack>
      </Group>
    </Panel>
  )
}

const RING = { radius: 42, width: 16, gap: 2, least: 0.5 }

/**
 * One arc for each slice; the legend says the same in words. Plain SVG: Mantine's RingProgress brings its Tooltip along.
 */
function Ring({ slices, total }: { slices: readonly Slice[]; total: number }) {
  const { radius, width, gap, least } = RING
  const circle = {
    ...{ cx: 50, cy: 50, r: radius, fill: 'none', strokeWidth: width, pathLength: 100 },
    transform: 'rotate(-90 50 50)',
  }
  const drawn = slices.filter(({ count }) => count > 0)
  const space = drawn.length > 1 ? gap : 0
  let before = 0
  const arcs = drawn.map(({ status, count }) => {
    const start = (before / total) * 100
    before += count
    return { status, start: start + space / 2, length: Math.max(least, (count / total) * 100 - space) }
  })
  return (
    <svg width={150} viewBox="0 0 100 100" aria-hidden="true">
      {total === 0 && <circle {...circle} stroke={colorOf('inactive')} />}
      {arcs.map(({ status, start, length }) => (
        <circle
          key={status}
          {...circle}
          data-status={status}
          stroke={colorOf(status)}
          strokeDasharray={`${length} 100`}
          strokeDashoffset={-start}
        />
      ))}
    </svg>
  )
}
