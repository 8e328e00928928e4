// The webhooks: where events are sent, how far each is behind, and the way to make one.
import { Button } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { OnlyFor } from '../app/only-for.tsx'
import { useListSearch } from '../search/list-search.ts'
import { pageOf } from '../search/search-params.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { List } from '../ui/list.tsx'
import { PagedResult } from '../ui/paged-result.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { WEBHOOK_COLUMNS } from './webhook-cells.tsx'
import { CreateWebhook } from './webhook-form.tsx'
import { webhookList } from './webhook-search.ts'

const TITLE = 'Webhooks'

export function WebhooksView() {
  return (
    <OnlyFor right="manageWebhooks" title={TITLE} refusal="You may not see webhooks">
      <Webhooks />
    </OnlyFor>
  )
}

function Webhooks() {
  const { search, changeSearch } = useListSearch(webhookList)
  const { page: current, limit } = pageOf(search)
  const webhooks = useQuery(queries.webhooks(useClient(), current, limit))
  const [isCreating, setCreating] = useState(false)
  const close = () => setCreating(false)
  return (
    <>
      <ViewTitle title={TITLE}>
        <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
          Create webhook
        </Button>
      </ViewTitle>
      <PagedResult
        query={webhooks}
        rows={6}
        one="webhook"
        current={current}
        changePage={changeSearch}
        hint="Create one to have what happens in this account sent to a program of yours."
      >
        {(page) => <List label={TITLE} items={page.items} columns={WEBHOOK_COLUMNS} cardsBelow="56em" />}
      </PagedResult>
      <Dialog shown={isCreating || undefined} titleOf={() => 'Create a webhook'} close={close}>
        {() => <CreateWebhook close={close} />}
      </Dialog>
    </>
  )
}
