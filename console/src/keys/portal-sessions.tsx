// The sessions of the portal that last: for which sub-account and what, who has made them, and the way to end one.
import { Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useId, useMemo, useState } from 'react'
import type { ListedPortalSession } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { actorName } from '../history/sentence.tsx'
import { ConfirmDialog, type Question } from '../ui/confirm-dialog.tsx'
import { type Column, List, RowActions } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { SubAccountNames } from './rights.tsx'

const TITLE = 'Sessions of the portal'

export function PortalSessions() {
  const titleId = useId()
  const [{ page, limit }, setPage] = useState({ page: 1, limit: 10 })
  const sessions = useQuery(queries.portalSessions(useClient(), page, limit))
  const [ending, setEnding] = useState<ListedPortalSession>()
  const columns = useMemo(() => sessionColumns(setEnding), [])
  return (
    <section aria-labelledby={titleId}>
      <Stack gap="md" mt="xl">
        <div>
          <Title order={2} size="h4" id={titleId}>
            {TITLE}
          </Title>
          <Text size="sm" c="dimmed">
            Each ends with the account key or the session of the person that has made it, at the latest.
          </Text>
        </div>
        <PagedResult
          query={sessions}
          rows={2}
          one="session of the portal"
          many="sessions of the portal"
          current={page}
          changePage={(to) => setPage({ page: to.page ?? 1, limit: to.limit ?? limit })}
          hint="They are made on the page of a sub-account, or by your backend."
        >
          {({ items }) => <List label={TITLE} items={items} columns={columns} cardsBelow="48em" />}
        </PagedResult>
      </Stack>
      <ConfirmDialog shown={ending} questionOf={endQuestion} close={() => setEnding(undefined)} />
    </section>
  )
}

const shortId = ({ _id }: ListedPortalSession): string => `…${_id.slice(-4)}`

const sessionColumns = (end: (session: ListedPortalSession) => void): readonly Column<ListedPortalSession>[] => [
  {
    header: 'Session',
    role: 'name',
    card: 'head',
    cell: (session) => <code title={session._id}>{shortId(session)}</code>,
  },
  { header: 'Sub-account', card: 'fact', cell: ({ subAccountId }) => <SubAccountNames ids={[subAccountId]} /> },
  { header: 'May', card: 'fact', cell: ({ may }) => may.join(', ') },
  { header: 'Made by', card: 'fact', cell: ({ by, byName }) => <Name clip>{actorName(by, byName)}</Name> },
  { header: 'Made', card: 'fact', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { header: 'Ends', card: 'fact', cell: ({ expiresAt }) => <RelativeTime at={expiresAt} /> },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (session) => (
      <RowActions>
        <SmallButton label={`End the session ${shortId(session)}`} onClick={() => end(session)}>
          End
        </SmallButton>
      </RowActions>
    ),
  },
]

const endQuestion = (session: ListedPortalSession): Question => ({
  title: 'End this session of the portal?',
  kind: 'portal-session',
  name: `the session ${shortId(session)}`,
  text: 'From the moment the service confirms, every request of this session is refused.',
  facts: [
    ['Sub-account', <SubAccountNames key="sub-account" ids={[session.subAccountId]} />],
    ['Made by', <Name key="by">{actorName(session.by, session.byName)}</Name>],
    ['Made', <RelativeTime key="created" at={session.createdAt} />],
  ],
  verb: 'End session',
  send: (client) => client.endPortalSession({ id: session._id }),
  done: `The session ${shortId(session)} is ended`,
})
