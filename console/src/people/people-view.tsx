// The people who are signed in to the console through the company's identity provider, and the way to sign one out.

import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Session } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { type Role, roleOf } from '../keys/rights.tsx'
import { PlainList } from '../search/plain-list.tsx'
import { peopleList } from '../search/plain-lists.ts'
import { ConfirmDialog, type Question } from '../ui/confirm-dialog.tsx'
import { Empty } from '../ui/empty-page.tsx'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { Own } from '../ui/own.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { browserName } from './browser-name.ts'
import { GrantsSection } from './grants-section.tsx'

const TITLE = 'Signed-in people'

export function PeopleView() {
  const whoami = useQuery(queries.whoami(useClient()))
  const { manageKeys, manageSessions, seesAll } = usePermissions()
  const { presence, unanswered } = useSession()
  if (whoami.data === undefined || manageSessions) return <People ownId={presence?.session} />
  const provider = {
    data: unanswered === undefined ? presence : undefined,
    error: unanswered?.error ?? null,
    isFetching: unanswered?.isAsking ?? false,
    refetch: () => unanswered?.askAgain(),
  }
  return (
    <>
      <ViewTitle title={TITLE} />
      {manageKeys && seesAll ? (
        <QueryResult query={provider} what="how people sign in">
          {() => (
            <Empty
              title="Nobody signs in with a company account here"
              description="This service has no identity provider. People sign in with account keys."
            />
          )}
        </QueryResult>
      ) : (
        <Empty
          title="You may not see who is signed in"
          description="Only owners who see all sub-accounts can do this."
        />
      )}
    </>
  )
}

function People({ ownId }: { ownId: string | null | undefined }) {
  const [ending, setEnding] = useState<Session>()
  const columns = useMemo(() => sessionColumns(ownId, setEnding), [ownId])
  return (
    <>
      <ViewTitle title={TITLE} />
      <PlainList
        list={peopleList}
        ask={queries.sessions}
        label={TITLE}
        columns={columns}
        cardsBelow="48em"
        one="session"
        hint="People who sign in with a company account are listed here until their session ends."
      />
      <GrantsSection />
      <ConfirmDialog
        shown={ending}
        questionOf={(session) => signOutQuestion(session, ownId)}
        close={() => setEnding(undefined)}
      />
    </>
  )
}

const nameOf = ({ email, subject }: Session): string => email ?? subject

function signOutQuestion(session: Session, ownId: string | null | undefined): Question {
  const name = nameOf(session)
  return {
    title: 'Sign this person out?',
    kind: 'session',
    name,
    text:
      'From the moment the service confirms, every request of this session is refused. The person can sign in again: to keep them ' +
      'out, change the grants.',
    warning: session._id === ownId && 'You are signed in with this session, and will be signed out.',
    facts: [
      ['Person', <Name key="name">{name}</Name>],
      ['Signed in', <RelativeTime key="created" at={session.createdAt} />],
      ['Last request', <RelativeTime key="used" at={session.lastUsedAt} />],
    ],
    verb: 'Sign out',
    send: (client) => client.revokeSession({ id: session._id }),
    done: <Outcome name={name} what="is signed out" />,
  }
}

function RoleOf({ role }: { role: string | null }) {
  const { label, may } = roleOf(role as Role | null)
  return <span title={may}>{label}</span>
}

const sessionColumns = (
  ownId: string | null | undefined,
  signOut: (session: Session) => void,
): readonly Column<Session>[] => [
  {
    header: 'Person',
    role: 'name',
    card: 'head',
    cell: (session) => (
      <span className={text.twoLines}>
        <Name clip>{nameOf(session)}</Name>
        {session._id === ownId && <Own>This session</Own>}
      </span>
    ),
  },
  { header: 'Role', card: 'fact', cell: ({ role }) => <RoleOf role={role} /> },
  { header: 'Subject', card: 'fact', cell: ({ subject }) => <Name clip>{subject}</Name> },
  { header: 'Address', card: 'fact', cell: ({ address }) => address ?? 'Unknown' },
  {
    header: 'Browser',
    card: 'fact',
    cell: ({ userAgent }) => <span title={userAgent ?? undefined}>{browserName(userAgent)}</span>,
  },
  { header: 'Signed in', card: 'fact', cell: ({ createdAt }) => <RelativeTime at={createdAt} /> },
  { header: 'Last request', card: 'fact', cell: ({ lastUsedAt }) => <RelativeTime at={lastUsedAt} /> },
  { header: 'Ends', card: 'fact', cell: ({ expiresAt }) => <RelativeTime at={expiresAt} /> },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (session) => (
      <RowActions>
        <SmallButton label={`Sign out ${nameOf(session)}`} onClick={() => signOut(session)}>
          Sign out
        </SmallButton>
      </RowActions>
    ),
  },
]
