// How many tokens were created in each of the last weeks.
import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { Overview } from '../../../client/latchkey-client.ts'
import { number, plural, utcDay } from '../ui/format.ts'
import classes from './overview.module.css'
import { Panel } from './panel.tsx'

/** Every fourth week has its day under it: there is no room for more. */
const LABELLED = 4

export function WeekChart({ weeks }: { weeks: Overview['createdByWeek'] }) {
  const most = Math.max(1, ...weeks.map(({ count }) => count))
  const total = weeks.reduce((sum, { count }) => sum + count, 0)
  return (
    <Panel title="Created by week" note={`${plural(total, 'token')} in the last ${weeks.length} weeks`}>
      <Group component="ol" gap={6} wrap="nowrap" className={classes.weeks}>
        {weeks.map(({ from, before, count }, index) => (
          <li key={from}>
            <Link
              to="/tokens"
              search={{ createdFrom: from, createdBefore: before }}
              aria-label={`${plural(count, 'token')} created in the week of ${utcDay(from)}`}
              className={classes.week}
            >
              <span>{count > 0 ? number(count) : ''}</span>
              <span className={classes.bar} style={{ height: `${(count / most) * 100}%` }} />
            </Link>
            <Text className={classes.weekDay} fz="0.7rem" h="1.4em" mt={4} c="dimmed" aria-hidden="true">
              {index % LABELLED === 0 || index === weeks.length - 1 ? utcDay(from).replace(/ \d{4}$/, '') : ''}
            </Text>
          </li>
        ))}
      </Group>
    </Panel>
  )
}
