// What is shown of a webhook, in the list and on its own page.
import { Link } from '@tanstack/react-router'
import type { Webhook } from '../../../client/latchkey-client.ts'
import { cx } from '../ui/cx.ts'
import { number } from '../ui/format.ts'
import type { Column } from '../ui/list.tsx'
import { Name } from '../ui/name.tsx'
import status from '../ui/status.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'

/** What a webhook is called. Its path is often a secret, which does not belong into the title of a page or a message. */
export const hostOf = ({ url }: Pick<Webhook, 'url'>): string => URL.parse(url)?.host ?? url

/** Why the service has switched a webhook off; undefined for one that it has not. */
export function reasonOf({ status: now, disabledBecause }: Webhook): string | undefined {
  if (now === 'active' || disabledBecause === null) return undefined
  return disabledBecause === 'gone'
    ? 'The receiver answered 410: it takes no more events'
    : 'No delivery succeeded for five days'
}

export function WebhookStatus({ webhook }: { webhook: Webhook }) {
  const reason = reasonOf(webhook)
  if (reason !== undefined) {
    return (
      <span className={status.status} data-status="suspended" title={reason}>
        Switched off by the service
      </span>
    )
  }
  const isActive = webhook.status === 'active'
  return (
    <span
      className={status.status}
      data-status={webhook.status}
      title={isActive ? 'Events are sent' : 'Nothing is sent'}
    >
      {isActive ? 'Active' : 'Inactive'}
    </span>
  )
}

export function EventNames({ webhook: { events } }: { webhook: Webhook }) {
  return events === null ? 'All' : <Name clip>{events.join(', ')}</Name>
}

export function Behind({ webhook: { behind } }: { webhook: Webhook }) {
  return behind === 0 ? <span className={text.dim}>None</span> : number(behind)
}

export const WEBHOOK_COLUMNS: readonly Column<Webhook>[] = [
  { header: 'URL', role: 'name', card: 'head', cell: (webhook) => <WebhookLink webhook={webhook} /> },
  { header: 'Events', card: 'fact', cell: (webhook) => <EventNames webhook={webhook} /> },
  {
    header: 'Status',
    card: 'line',
    cell: (webhook) => (
      <span className={text.twoLines}>
        <WebhookStatus webhook={webhook} />
        <span className={cx(text.dim, text.small)}>{reasonOf(webhook)}</span>
      </span>
    ),
  },
  { header: 'Events waiting', card: 'fact', cell: (webhook) => <Behind webhook={webhook} /> },
  {
    header: 'Last success',
    card: 'fact',
    cell: ({ lastSuccessAt }) => <RelativeTime at={lastSuccessAt} none="Never" />,
  },
]

function WebhookLink({ webhook: { _id, url } }: { webhook: Webhook }) {
  return (
    <Link to="/webhooks/$webhookId" params={{ webhookId: _id }} className={text.link}>
      <Name clip>{url}</Name>
    </Link>
  )
}
