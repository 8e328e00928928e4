// History entries under the days they belong to.
import { Box, Center, Group, Stack, Text, Title } from '@mantine/core'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { day } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { actionOf } from './actions.tsx'
import { Sentence } from './sentence.tsx'
import type { Names } from './wording.tsx'

interface HistoryListProps {
  readonly entries: readonly HistoryEntry[]
  readonly names: Names
  /** The token or sub-account that all of them are about: it needs no link. */
  readonly ownId?: string | undefined
}

export function HistoryList({ entries, names, ownId }: HistoryListProps) {
  const days = Map.groupBy(entries, ({ at }) => day(at))
  return (
    <Stack gap={20} mt={16}>
      {[...days].map(([date, list]) => (
        <section key={date} aria-label={date}>
          <Title order={2} size="sm" fw={600} c="dimmed" mb={8}>
            {date}
          </Title>
          <ol className={surface.raised}>
            {list.map((entry) => (
              <Group component="li" key={entry.seq} wrap="nowrap" gap={12} px={16} py={10} className={surface.divided}>
                <Center component="span" flex="none" w={28} h={28} bdrs="50%" bg="var(--color-page)" c="dimmed">
                  <Icon name={actionOf(entry.action).icon(entry)} />
                </Center>
                {/* Time and origin are under the sentence where there is little room. */}
                <Group gap="2px 12px" flex={1} miw={0}>
                  <Box component="p" flex="1 1 20rem">
                    <Sentence entry={entry} names={names} ownId={ownId} />
                  </Box>
                  <Text component="div" size="xs" c="dimmed">
                    <RelativeTime at={entry.at} />
                    {entry.address !== null && <span> · from {entry.address}</span>}
                    {entry.requestId !== null && <span className={text.onlyWide}> · request {entry.requestId}</span>}
                  </Text>
                </Group>
              </Group>
            ))}
          </ol>
        </section>
      ))}
    </Stack>
  )
}
