// How many tokens were created in each of the last weeks.
import { Box, Group } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { number, plural, utcDay } from '../ui/format.ts'
import surface from '../ui/surface.module.css'
import classes from './overview.module.css'
import { Panel } from './panel.tsx'

/** Every fourth week has its day under it: there is no room for more. */
const LABELLED = 4

export function WeekChart({ weeks }: { weeks: Overview['createdByWeek'] }) {
  const most = Math.max(1, ...weeks.map(({ count }) => count))
  const total = weeks.reduce((sum, { count }) => sum + count, 0)
  return (
    <Panel title="Created by week" note={`${plural(total, 'token')} in the last ${weeks.length} weeks`}>
      <Group component="ol" gap={6} wrap="nowrap">
        {weeks.map(({ from, before, count }, index) => (
          <Box component="li" key={from} flex={1} miw={0}>
            <Link
              to="/tokens"
              search={{ createdFrom: from, createdBefore: before }}
              aria-label={`${plural(count, 'token')} created in the week of ${utcDay(from)}`}
              className={cx(surface.choice, classes.week)}
            >
              <span>{count > 0 ? number(count) : ''}</span>
              <Box
                component="span"
                h={`calc((100% - 20px) * ${count / most})`}
                mih={2}
                bdrs="4px 4px 0 0"
                bg="var(--color-accent)"
              />
            </Link>
            {/* The last label ends at the edge of the panel. */}
            <Group
              justify={index === weeks.length - 1 ? 'flex-end' : 'flex-start'}
              wrap="nowrap"
              align="flex-start"
              fz="0.7rem"
              h="1.4em"
              mt={4}
              c="dimmed"
              style={{ whiteSpace: 'nowrap' }}
              aria-hidden="true"
            >
              {index % LABELLED === 0 || index === weeks.length - 1 ? utcDay(from).replace(/ \d{4}$/, '') : ''}
            </Group>
          </Box>
        ))}
      </Group>
    </Panel>
  )
}
