// History entries under the days they belong to.
import { Center, Stack, Text, Title } from '@mantine/core'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { day } from '../ui/format.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import classes from './history.module.css'
import { type Names, Sentence } from './sentence.tsx'

interface HistoryListProps {
  readonly entries: readonly HistoryEntry[]
  readonly names: Names
  /** Time and origin under the sentence at every width, where the list itself has little room. */
  readonly narrow?: boolean
}

export function HistoryList({ entries, names, narrow = false }: HistoryListProps) {
  const days = Map.groupBy(entries, ({ at }) => day(at))
  return (
    <Stack gap={20} mt={16} data-narrow={narrow || undefined}>
      {[...days].map(([date, list]) => (
        <section key={date} aria-label={date}>
          <Title order={2} size="sm" fw={600} c="dimmed" mb={8}>
            {date}
          </Title>
          <ol className={surface.raised}>
            {list.map((entry) => (
              <li key={entry.seq} className={classes.entry}>
                <Center component="span" w={28} h={28} bdrs="50%" bg="var(--color-page)" c="dimmed">
                  <Icon name={iconOf(entry)} />
                </Center>
                <p>
                  <Sentence entry={entry} names={names} />
                </p>
                <Text component="div" size="xs" c="dimmed">
                  <RelativeTime at={entry.at} />
                  {entry.address !== null && <span> · from {entry.address}</span>}
                  {entry.requestId !== null && <span className={text.onlyWide}> · request {entry.requestId}</span>}
                </Text>
              </li>
            ))}
          </ol>
        </section>
      ))}
    </Stack>
  )
}

function iconOf({ action, to }: HistoryEntry): IconName {
  if (action === 'token.delete' || action === 'key.revoke') return 'trash'
  if (action === 'token.rotate') return 'rotate'
  if (action === 'key.create') return 'key'
  if (action === 'token.reveal') return 'eye'
  if (action === 'token.erase') return 'eye-off'
  if (to.status !== undefined && action === 'token.update') return 'power'
  if (to.suspendedAt !== undefined) return 'power'
  return action.endsWith('.create') ? 'plus' : 'pencil'
}
