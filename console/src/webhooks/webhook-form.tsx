// Creates a webhook, whose secret is shown once, or changes where its events are sent, which and in what order.
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useState } from 'react'
import type { NewWebhook, Webhook, WebhookPatch } from '../../../client/latchkey-client.ts'
import { fieldErrors } from '../api/errors.ts'
import { useChange } from '../api/use-change.tsx'
import { ACTION_NAMES } from '../history/actions.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChipsInput } from '../ui/chips-input.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { hostOf } from './webhook-cells.tsx'
import { SecretReady } from './webhook-secret.tsx'

const LABELS = { url: 'URL', events: 'Events', order: 'Order' }

interface Fields {
  readonly url: string
  /** None for all. */
  readonly events: readonly string[]
  readonly order: Webhook['order']
}

export const ORDERS: Readonly<Record<Webhook['order'], string>> = {
  strict: 'Strict: each waits for those before it',
  none: 'None: one that fails is put aside',
}

/** Every kind of thing with all that happens to it, then each event. */
const EVENTS = [...new Set(ACTION_NAMES.map((action) => `${action.split('.')[0]}.*`)), ...ACTION_NAMES]

const bodyOf = ({ url, events, order }: Fields): NewWebhook => ({
  url: url.trim(),
  events: events.length === 0 ? null : events,
  order,
})

export function CreateWebhook({ close }: { close: () => void }) {
  const form = useForm<Fields>({ initialValues: { url: '', events: [], order: 'strict' } })
  const create = useChange({
    kind: 'webhook',
    name: hostOf(form.values),
    send: (client, body: NewWebhook) => client.createWebhook({ body }),
    unseen: (made) => ({
      text: <Outcome name={hostOf(made)} what="is made, but its secret was not shown: rotate it to get another one" />,
      tone: 'bad',
    }),
  })
  if (create.data) {
    return <SecretReady title="Webhook created" webhook={create.data} secret={create.data.secret} close={close} />
  }
  const run = () =>
    create.mutate(bodyOf(form.values), { onError: (error) => form.setErrors(fieldErrors(error, LABELS)) })
  return (
    <WebhookFields
      form={form}
      change={create}
      run={run}
      hint="If the list has it already, cancel, and rotate its secret: the secret was lost with the answer."
    >
      Create webhook
    </WebhookFields>
  )
}

export function EditWebhook({ webhook, close }: { webhook: Webhook; close: () => void }) {
  const toast = useToast()
  const { _id, url, events, order } = webhook
  const form = useForm<Fields>({ initialValues: { url, events: events ?? [], order } })
  const edit = useChange({
    kind: 'webhook',
    name: hostOf(webhook),
    send: (client, body: WebhookPatch) => client.patchWebhook({ id: _id, body }),
    onDone: (saved) => toast({ text: <Outcome name={hostOf(saved)} what="is saved" /> }),
  })
  const run = () => {
    // Only what was changed here: what somebody else has changed meanwhile is not overwritten.
    const changed = Object.entries(bodyOf(form.values)).filter(([field]) => form.isDirty(field))
    if (changed.length === 0) return close()
    const onError = (error: unknown) => form.setErrors(fieldErrors(error, LABELS))
    edit.mutate(Object.fromEntries(changed), { onSuccess: close, onError })
  }
  return (
    <WebhookFields form={form} change={edit} run={run}>
      Save
    </WebhookFields>
  )
}

interface WebhookFieldsProps {
  readonly form: UseFormReturnType<Fields>
  readonly change: { readonly error: unknown; readonly isPending: boolean }
  readonly run: () => void
  readonly hint?: string
  readonly children: string
}

function WebhookFields({ form, change, run, hint, children }: WebhookFieldsProps) {
  const [typed, setTyped] = useState('')
  const isAboutFields = Object.keys(fieldErrors(change.error, LABELS)).length > 0
  return (
    <form onSubmit={form.onSubmit(run)} noValidate>
      <Stack gap="md">
        <TextInput
          label={LABELS.url}
          description="Each event is sent to it as a POST request"
          placeholder="https://example.com/latchkey"
          type="url"
          required
          data-autofocus
          {...form.getInputProps('url')}
        />
        <ChipsInput
          label={LABELS.events}
          description="Such as token.update, or token.* for all that happens to tokens. All events, if none is named"
          // Not before something is typed: the list would cover what follows.
          data={typed === '' ? [] : EVENTS}
          searchValue={typed}
          onSearchChange={setTyped}
          value={form.values.events}
          onChange={(events) => form.setFieldValue('events', events)}
          error={form.errors.events}
        />
        <NativeSelect
          label={LABELS.order}
          data={Object.entries(ORDERS).map(([value, label]) => ({ value, label }))}
          {...form.getInputProps('order')}
        />
        <ChangeButtons change={change} run={run} submits isAboutFields={isAboutFields} hint={hint}>
          {children}
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !change.isPending ? 'typed' : undefined} />
    </form>
  )
}
