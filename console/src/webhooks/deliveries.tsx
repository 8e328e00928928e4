// What was sent to a webhook: what was answered, when it is tried again, and the ways to send it again or to go on without it.
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Delivery, Webhook } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { pageOf, paging, readSearch } from '../search/search-params.ts'
import { cx } from '../ui/cx.ts'
import { number } from '../ui/format.ts'
import { type Column, List, RowActions } from '../ui/list.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { SmallButton } from '../ui/row-buttons.tsx'
import status from '../ui/status.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'

const route = getRouteApi('/webhooks/$webhookId')

export function Deliveries({ webhook: { _id: webhookId, status: now } }: { webhook: Webhook }) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { page: current, limit } = pageOf(search)
  const deliveries = useQuery(queries.deliveries(useClient(), webhookId, current, limit))
  const columns = useMemo(() => deliveryColumns(webhookId, now === 'active'), [webhookId, now])
  return (
    <PagedResult
      query={deliveries}
      rows={6}
      one="delivery"
      many="deliveries"
      current={current}
      changePage={(part) => void navigate({ search: readSearch(paging, { ...search, page: undefined, ...part }) })}
      hint="What happens from now on is sent, and listed here."
    >
      {(page) => <List label="Deliveries" items={page.items} columns={columns} cardsBelow="56em" />}
    </PagedResult>
  )
}

const STATUSES = {
  waiting: { label: 'Waiting', look: 'expired', title: 'It is sent again' },
  delivered: { label: 'Delivered', look: 'active', title: 'The receiver has taken it' },
  skipped: { label: 'Skipped', look: 'inactive', title: 'It is not sent again by itself' },
} as const

/** What a delivery is called: its event, and the entry of the history. */
const nameOf = ({ event, seq }: Delivery): string => `${event} ${seq}`

const deliveryColumns = (webhookId: string, isActive: boolean): readonly Column<Delivery>[] => [
  {
    header: 'Event',
    role: 'name',
    card: 'head',
    cell: ({ event, seq, _id }) => (
      <span className={text.twoLines} title={`webhook-id: ${_id}`}>
        {event}
        <span className={cx(text.dim, text.small)}>Entry {seq}</span>
      </span>
    ),
  },
  { header: 'Status', card: 'head', cell: (delivery) => <DeliveryStatus delivery={delivery} /> },
  { header: 'Answer', card: 'fact', cell: (delivery) => <Answer delivery={delivery} /> },
  { header: 'Attempts', card: 'fact', cell: ({ attempts }) => number(attempts) },
  { header: 'Last attempt', card: 'fact', cell: ({ at }) => <RelativeTime at={at} /> },
  {
    header: 'Next attempt',
    card: 'fact',
    cell: ({ status: state, nextAttemptAt }) =>
      isActive || state !== 'waiting' ? <RelativeTime at={nextAttemptAt} none="None" /> : 'Once it is switched on',
  },
  {
    header: 'Actions',
    role: 'actions',
    card: 'line',
    cell: (delivery) => <DeliveryActions webhookId={webhookId} delivery={delivery} />,
  },
]

function DeliveryStatus({ delivery }: { delivery: Delivery }) {
  const { label, look, title } = STATUSES[delivery.status]
  return (
    <span className={status.status} data-status={look} title={title}>
      {label}
    </span>
  )
}

/** What the receiver has said is text of somebody else, and may be long. */
function Answer({ delivery: { responseStatus, error } }: { delivery: Delivery }) {
  const words = error?.replace(`HTTP ${responseStatus}`, '').replace(/^: /, '')
  return (
    <span className={text.twoLines}>
      {responseStatus}
      {words && (
        <span className={cx(text.dim, text.small)}>
          <Name clip>{words}</Name>
        </span>
      )}
    </span>
  )
}

type Way = 'redeliver' | 'skipDelivery'

function DeliveryActions({ webhookId, delivery }: { webhookId: string; delivery: Delivery }) {
  const toast = useToast()
  const name = nameOf(delivery)
  const change = useChange({
    kind: 'delivery',
    name,
    send: (client, way: Way) => client[way]({ id: webhookId, deliveryId: delivery._id }),
    onDone: (_, way) =>
      toast({ text: <Outcome name={name} what={way === 'redeliver' ? 'is sent again' : 'is skipped'} /> }),
    isFromToast: () => true,
  })
  return (
    <RowActions>
      <SmallButton label={`Send again: ${name}`} onClick={() => change.mutate('redeliver')}>
        Send again
      </SmallButton>
      {delivery.status === 'waiting' && (
        <SmallButton label={`Skip: ${name}`} onClick={() => change.mutate('skipDelivery')}>
          Skip
        </SmallButton>
      )}
    </RowActions>
  )
}
