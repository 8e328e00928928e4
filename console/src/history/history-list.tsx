// History entries under the days they belong to. What one bulk operation did is one entry, which opens.
import { Box, Center, Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { HistoryEntry, HistoryPage } from '../../../client/latchkey-client.ts'
import { day, plural } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { actionOf } from './actions.tsx'
import { type EntryGroup, groupsOf } from './grouping.ts'
import { GroupSentence, Sentence } from './sentence.tsx'
import type { Names } from './wording.tsx'

interface Shown {
  readonly names: Names
  /** The token or sub-account that all of them are about: it needs no link. */
  readonly ownId: string | undefined
}

export function HistoryList({ page, ownId }: { readonly page: HistoryPage; readonly ownId: string | undefined }) {
  const days = [...Map.groupBy(page.items, ({ at }) => day(at))]
  const shown = { names: page.names, ownId }
  return (
    <Stack gap={20} mt={16}>
      {days.map(([date, entries], at) => (
        <section key={date} aria-label={date}>
          <Title order={2} size="sm" fw={600} c="dimmed" mb={8}>
            {date}
          </Title>
          <ol className={surface.raised}>
            {groupsOf(entries, {
              before: at === 0 && page.hasPrevPage,
              after: at === days.length - 1 && page.hasNextPage,
            }).map((group) => (
              <GroupRow key={group.entries[0].seq} group={group} {...shown} />
            ))}
          </ol>
        </section>
      ))}
    </Stack>
  )
}

function GroupRow({ group, ...shown }: Shown & { readonly group: EntryGroup }) {
  const { entries } = group
  const [entry] = entries
  if (entries.length === 1) return <Row entry={entry} sentence={<Sentence entry={entry} {...shown} />} />
  return (
    <Row entry={entry} sentence={<GroupSentence group={group} {...shown} />}>
      <Entries entries={entries} {...shown} />
    </Row>
  )
}

/** Drawn once they are asked for: a page may have a hundred. */
function Entries({ entries, ...shown }: Shown & { readonly entries: readonly HistoryEntry[] }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Box component="details" flex="1 0 100%" fz="sm" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{plural(entries.length, 'entry', 'entries')}</summary>
      {isOpen && (
        <ol>
          {entries.map((entry) => (
            <Row key={entry.seq} entry={entry} sentence={<Sentence entry={entry} {...shown} isInGroup />} isInGroup />
          ))}
        </ol>
      )}
    </Box>
  )
}

interface RowProps {
  readonly entry: HistoryEntry
  readonly sentence: ReactNode
  /** Says only what the group does not. */
  readonly isInGroup?: boolean
  readonly children?: ReactNode
}

function Row({ entry, sentence, isInGroup = false, children }: RowProps) {
  return (
    <Group
      component="li"
      wrap="nowrap"
      align={children === undefined ? 'center' : 'flex-start'}
      gap={12}
      px={isInGroup ? 0 : 16}
      py={isInGroup ? 4 : 10}
      className={isInGroup ? undefined : surface.divided}
    >
      {!isInGroup && (
        <Center component="span" flex="none" w={28} h={28} bdrs="50%" bg="var(--color-page)" c="dimmed">
          <Icon name={actionOf(entry.action).icon(entry)} />
        </Center>
      )}
      {/* Time and origin are under the sentence where there is little room. */}
      <Group gap="2px 12px" flex={1} miw={0}>
        <Box component="p" flex="1 1 20rem">
          {sentence}
        </Box>
        <Text component="div" size="xs" c="dimmed">
          <RelativeTime at={entry.at} />
          {!isInGroup && entry.address !== null && <span> · from {entry.address}</span>}
          {!isInGroup && entry.requestId !== null && (
            <span className={text.onlyWide}> · request {entry.requestId}</span>
          )}
        </Text>
        {children}
      </Group>
    </Group>
  )
}
