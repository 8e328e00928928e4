// The account at a glance. Every figure and every bar is a link to the tokens it counts.

import { Box, Group, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { cx } from '../ui/cx.ts'
import { number } from '../ui/format.ts'
import { QueryResult } from '../ui/query-result.tsx'
import surface from '../ui/surface.module.css'
import { ViewTitle } from '../ui/view-title.tsx'
import { Busiest } from './busiest.tsx'
import { CleanUp } from './clean-up.tsx'
import classes from './overview.module.css'
import { StatusChart } from './status-chart.tsx'
import { SubAccountChart } from './sub-account-chart.tsx'
import { WeekChart } from './week-chart.tsx'

export function OverviewView() {
  const overview = useQuery(queries.overview(useClient()))
  return (
    <>
      <ViewTitle title="Overview" />
      <QueryResult query={overview} what="the overview">
        {(data) => (
          <Group gap={16} align="stretch">
            <Figures overview={data} />
            <StatusChart tokens={data.tokens} />
            <WeekChart weeks={data.createdByWeek} />
            <SubAccountChart subAccounts={data.subAccounts} />
            <Busiest busiest={data.busiest} />
            <CleanUp tokens={data.tokens} />
          </Group>
        )}
      </QueryResult>
    </>
  )
}

const FIGURE = cx(surface.raised, surface.choice, classes.figure)
/** Five next to each other, or two on a telephone. */
const FIGURE_FLEX = '1 1 130px'

function Figures({ overview: { tokens, subAccounts } }: { overview: Overview }) {
  const figures = [
    { label: 'Tokens', value: tokens.active + tokens.inactive, search: {} },
    { label: 'Never used', value: tokens.neverUsed, search: { used: 'never' } },
    {
      label: 'Expiring within 30 days',
      value: tokens.expiringSoon,
      search: { status: 'active', expiry: 'soon' },
      warns: true,
    },
    {
      label: 'Expired, still active',
      value: tokens.expired,
      search: { effectiveStatus: 'expired' },
      warns: true,
    },
  ] as const
  return (
    <Group component="ul" w="100%" gap={16} align="stretch">
      {figures.map(({ label, value, search, ...rest }) => (
        <Box component="li" key={label} flex={FIGURE_FLEX}>
          <Link to="/tokens" search={search} className={FIGURE}>
            <Figure value={value} label={label} warns={'warns' in rest && value > 0} />
          </Link>
        </Box>
      ))}
      <Box component="li" flex={FIGURE_FLEX}>
        <Link to="/sub-accounts" className={FIGURE}>
          <Figure value={subAccounts.total} label="Sub-accounts" />
        </Link>
      </Box>
    </Group>
  )
}

function Figure({ value, label, warns = false }: { value: number; label: string; warns?: boolean }) {
  return (
    <>
      <Text span fz="1.75rem" fw={680} lh={1.2} lts="-0.02em" c={warns ? 'var(--color-warning)' : 'inherit'}>
        {number(value)}
      </Text>
      <Text span size="sm" c="dimmed">
        {label}
      </Text>
    </>
  )
}
