// One webhook on a page of its own: its facts, what can be done to it, and what was sent to it.
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Webhook, WebhookTest } from '../../../client/latchkey-client.ts'
import { shortReason } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { OnlyFor } from '../app/only-for.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ConfirmDialog, type Question } from '../ui/confirm-dialog.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Facts } from '../ui/facts.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import text from '../ui/text.module.css'
import { Moment, RelativeTime } from '../ui/time.tsx'
import { useToast } from '../ui/toasts.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { Warning } from '../ui/warning.tsx'
import { Deliveries } from './deliveries.tsx'
import { Behind, EventNames, hostOf, reasonOf, WebhookStatus } from './webhook-cells.tsx'
import { EditWebhook, ORDERS } from './webhook-form.tsx'
import { RotateSecret } from './webhook-secret.tsx'

const route = getRouteApi('/webhooks/$webhookId')

/** Mounted again for each webhook: no dialog or outcome about one stays on the page of another. */
export function WebhookView() {
  const { webhookId } = route.useParams()
  return (
    <OnlyFor right="manageWebhooks" title="Webhook" refusal="You may not see webhooks">
      <OneWebhook key={webhookId} id={webhookId} />
    </OnlyFor>
  )
}

function OneWebhook({ id }: { id: string }) {
  const webhook = useQuery(queries.webhook(useClient(), id))
  return (
    <>
      <ViewTitle title={webhook.data ? hostOf(webhook.data) : 'Webhook'}>
        {webhook.data && <Buttons webhook={webhook.data} />}
      </ViewTitle>
      <QueryResult
        query={webhook}
        what="the webhook"
        errorAction={
          <Link to="/webhooks" className={text.link}>
            To all webhooks
          </Link>
        }
      >
        {(data) => (
          <Stack gap="lg">
            <SwitchedOff webhook={data} />
            <AllFacts webhook={data} />
            <TestIt id={id} />
            <section>
              <Title order={2} size="h4" mb="sm">
                Deliveries
              </Title>
              <Deliveries webhook={data} />
            </section>
          </Stack>
        )}
      </QueryResult>
    </>
  )
}

type DialogKind = 'edit' | 'rotate'

const TITLES: Readonly<Record<DialogKind, string>> = {
  edit: 'Edit the webhook',
  rotate: 'Rotate the secret?',
}

function Buttons({ webhook }: { webhook: Webhook }) {
  const navigate = route.useNavigate()
  const [dialog, setDialog] = useState<DialogKind>()
  const [deleting, setDeleting] = useState<Webhook>()
  const close = () => setDialog(undefined)
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => setDialog('edit')}>
        Edit
      </Button>
      <StatusButton webhook={webhook} />
      <Button variant="default" onClick={() => setDialog('rotate')}>
        Rotate secret
      </Button>
      <Button variant="light" color="red" onClick={() => setDeleting(webhook)}>
        Delete
      </Button>
      <Dialog shown={dialog} titleOf={(kind) => TITLES[kind]} close={close}>
        {(kind) => (
          <>
            {kind === 'edit' && <EditWebhook webhook={webhook} close={close} />}
            {kind === 'rotate' && <RotateSecret webhook={webhook} close={close} />}
          </>
        )}
      </Dialog>
      <ConfirmDialog
        shown={deleting}
        questionOf={deleteQuestion}
        close={() => setDeleting(undefined)}
        // Nothing is lost by it any more, though the dialog does not know yet.
        onDone={() => void navigate({ to: '/webhooks', ignoreBlocker: true })}
      />
    </Group>
  )
}

const deleteQuestion = (webhook: Webhook): Question => ({
  title: 'Delete this webhook?',
  kind: 'webhook',
  name: hostOf(webhook),
  text:
    'Nothing is sent any more, and what was delivered is no longer listed. This cannot be undone. To stop for a while, switch it off ' +
    'instead.',
  facts: [
    ['URL', <Name key="url">{webhook.url}</Name>],
    ['Events waiting', <Behind key="behind" webhook={webhook} />],
  ],
  verb: 'Delete webhook',
  send: (client) => client.deleteWebhook({ id: webhook._id }),
  done: <Outcome name={hostOf(webhook)} what="gets no more events" />,
})

/** Asks nothing: what happens while a webhook is off is sent once it is on again. */
function StatusButton({ webhook }: { webhook: Webhook }) {
  const toast = useToast()
  const isActive = webhook.status === 'active'
  const change = useChange({
    kind: 'webhook',
    name: hostOf(webhook),
    send: (client) => client.patchWebhook({ id: webhook._id, body: { status: isActive ? 'inactive' : 'active' } }),
    onDone: (saved) =>
      toast({
        text: <Outcome name={hostOf(saved)} what={saved.status === 'active' ? 'is switched on' : 'is switched off'} />,
      }),
    isFromToast: () => true,
  })
  return (
    <BusyButton variant="default" busy={change.isPending} onClick={() => change.mutate()}>
      {isActive ? 'Switch off' : 'Switch on'}
    </BusyButton>
  )
}

function SwitchedOff({ webhook }: { webhook: Webhook }) {
  const reason = reasonOf(webhook)
  if (reason === undefined) return null
  return (
    <Warning role="status">
      The service has switched this webhook off. {reason}. Once the receiver takes events again, “Switch on” sends it
      everything that happened meanwhile.
    </Warning>
  )
}

function AllFacts({ webhook }: { webhook: Webhook }) {
  const { _id, url, order, lastSuccessAt, formerSecretUntil, createdAt } = webhook
  return (
    <Facts
      isRaised
      facts={[
        ['URL', <Name key="url">{url}</Name>],
        ['Id', <CopyableId key="id" id={_id} what="Webhook id" />],
        ['Events', <EventNames key="events" webhook={webhook} />],
        ['Order', ORDERS[order]],
        ['Status', <WebhookStatus key="status" webhook={webhook} />],
        ['Events waiting', <Behind key="behind" webhook={webhook} />],
        ['Last success', <RelativeTime key="success" at={lastSuccessAt} none="Never" />],
        ...(formerSecretUntil === null
          ? []
          : [['Former secret', <FormerSecret key="former" until={formerSecretUntil} />] as const]),
        ['Created', <Moment key="created" at={createdAt} />],
      ]}
    />
  )
}

function FormerSecret({ until }: { until: string }) {
  return (
    <>
      Signs too until <Moment at={until} />
    </>
  )
}

/** Changes nothing, and is no entry of the history. */
function TestIt({ id }: { id: string }) {
  const client = useClient()
  const { mutate, isPending, data, error } = useMutation({ mutationFn: () => client.testWebhook({ id }) })
  return (
    <Group gap="sm">
      <BusyButton variant="default" busy={isPending} onClick={() => mutate()}>
        Send a test event
      </BusyButton>
      <Text size="sm" role="status">
        {!isPending && data !== undefined && outcomeOf(data)}
        {!isPending && error !== null && `Nothing is known of it: ${shortReason(error)}`}
      </Text>
    </Group>
  )
}

function outcomeOf({ delivered, responseStatus, error }: WebhookTest): string {
  const answer = responseStatus === null ? error : `the receiver answered ${responseStatus}`
  return `${delivered ? 'Delivered' : 'Not delivered'}: ${answer}`
}
