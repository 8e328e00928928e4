// The verifiers that hold a lease: processes that verify credentials from memory, and the way to evict one.
import { Text } from '@mantine/core'
import { useMemo, useState } from 'react'
import type { Verifier } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { OnlyFor } from '../app/only-for.tsx'
import { PlainList } from '../search/plain-list.tsx'
import { verifierList } from '../search/plain-lists.ts'
import { ConfirmDialog, type Question } from '../ui/confirm-dialog.tsx'
import { type Column, RowActions } from '../ui/list.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'

const TITLE = 'Verifiers'

export function VerifiersView() {
  return (
    <OnlyFor right="manageVerifiers" title={TITLE} refusal="You may not see verifiers">
      <Verifiers />
    </OnlyFor>
  )
}

function Verifiers() {
  const [evicting, setEvicting] = useState<Verifier>()
  const columns = useMemo(() => verifierColumns(setEvicting), [])
  return (
    <>
      <ViewTitle title={TITLE} />
      <PlainList
        list={verifierList}
        ask={queries.verifiers}
        about={(rows) => <Slowest verifiers={rows} />}
        label={TITLE}
        columns={columns}
        cardsBelow="48em"
        one="verifier"
        hint="Applications and sidecars that verify from memory are listed here while they hold a lease."
      />
      <ConfirmDialog shown={evicting} questionOf={evictQuestion} close={() => setEvicting(undefined)} />
    </>
  )
}

const nameOf = ({ name, _id }: Verifier): string => name ?? _id

function evictQuestion(verifier: Verifier): Question {
  const name = nameOf(verifier)
  return {
    title: 'Evict this verifier?',
    kind: 'verifier',
    name,
    text:
      'It gets no further lease, and asks the service for each verification from then on. Start it again to let it hold a lease. To ' +
      'refuse its requests altogether, revoke its account key.',
    facts: [
      ['Verifier', <Name key="name">{name}</Name>],
      ['Since', <RelativeTime key="since" at={verifier.since} />],
      ['Last call', <RelativeTime key="confirmed" at={verifier.confirmedAt} />],
    ],
    verb: 'Evict',
    send: (client) => client.evictVerifier({ id: verifier._id }),
    done: <Outcome name={name} what="is evicted" />,
  }
}

/** For whom a change would wait longest. */
function Slowest({ verifiers }: { verifiers: readonly Verifier[] }) {
  const [slowest] = verifiers.toSorted((one, other) => (one.confirmedAt < other.confirmedAt ? -1 : 1))
  if (slowest === undefined || verifiers.length < 2) return null
  return (
    <Text size="sm" c="dimmed" mb="sm">
      A change is answered when each of these has confirmed it. The last call is longest ago for{' '}
      <Name>{nameOf(slowest)}</Name>: <RelativeTime at={slowest.confirmedAt} />.
    </Text>
  )
}

const verifierColumns = (evict: (verifier: Verifier) => void): readonly Column<Verifier>[] => [
  { header: 'Name', role: 'name', card: 'head', cell: (verifier) => <Name clip>{nameOf(verifier)}</Name> },
  { header: 'Since', card: 'fact', cell: ({ since }) => <RelativeTime at={since} /> },
  { header: 'Last call', card: 'fact', cell: ({ confirmedAt }) => <RelativeTime at={confirmedAt} /> },
  { header: 'Version', card: 'fact', cell: ({ version }) => version ?? 'Not known' },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (verifier) => (
      <RowActions>
        <SmallButton label={`Evict ${nameOf(verifier)}`} onClick={() => evict(verifier)}>
          Evict
        </SmallButton>
      </RowActions>
    ),
  },
]
