// The webhooks: where events are sent, how far each is behind, and the way to make one.
import { Button } from '@mantine/core'
import { useState } from 'react'
import { queries } from '../api/queries.ts'
import { OnlyFor } from '../app/only-for.tsx'
import { PlainList } from '../search/plain-list.tsx'
import { webhookList } from '../search/plain-lists.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { WEBHOOK_COLUMNS } from './webhook-cells.tsx'
import { CreateWebhook } from './webhook-form.tsx'

const TITLE = 'Webhooks'

export function WebhooksView() {
  return (
    <OnlyFor right="manageWebhooks" title={TITLE} refusal="You may not see webhooks">
      <Webhooks />
    </OnlyFor>
  )
}

function Webhooks() {
  const [isCreating, setCreating] = useState(false)
  const close = () => setCreating(false)
  return (
    <>
      <ViewTitle title={TITLE}>
        <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
          Create webhook
        </Button>
      </ViewTitle>
      <PlainList
        list={webhookList}
        ask={queries.webhooks}
        label={TITLE}
        columns={WEBHOOK_COLUMNS}
        cardsBelow="56em"
        one="webhook"
        hint="Create one to have what happens in this account sent to a program of yours."
      />
      <Dialog shown={isCreating || undefined} titleOf={() => 'Create a webhook'} close={close}>
        {() => <CreateWebhook close={close} />}
      </Dialog>
    </>
  )
}
