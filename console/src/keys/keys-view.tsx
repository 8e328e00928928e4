// The account keys: what each may do, when it was used, and the ways to make and to revoke one; and the sessions of the portal.

import { Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import type { Key } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { OnlyFor } from '../app/only-for.tsx'
import { ExportButton } from '../export/export-button.tsx'
import { PlainList } from '../search/plain-list.tsx'
import { keyList } from '../search/plain-lists.ts'
import { ConfirmDialog } from '../ui/confirm-dialog.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Icon } from '../ui/icon.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { keyColumns } from './key-cells.tsx'
import { PortalSessions } from './portal-sessions.tsx'
import { revokeQuestion } from './revoke-question.tsx'

export function KeysView() {
  const whoami = useQuery(queries.whoami(useClient()))
  return (
    <OnlyFor
      right="manageKeys"
      title="Account keys"
      refusal="You may not manage account keys"
      description="Only owners can do this. Ask the person who gave you access."
    >
      <Keys ownId={whoami.data?.caller._id} />
    </OnlyFor>
  )
}

function Keys({ ownId }: { ownId: string | undefined }) {
  const [isCreating, setCreating] = useState(false)
  const [revoking, setRevoking] = useState<Key>()
  const columns = useMemo(() => keyColumns(ownId, setRevoking), [ownId])
  const close = () => setCreating(false)
  return (
    <>
      <ViewTitle title="Account keys">
        <Group gap="sm">
          <ExportButton name="keys" list={() => ({ path: 'key', params: {} })} />
          <Button leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
            Create key
          </Button>
        </Group>
      </ViewTitle>
      <PlainList
        list={keyList}
        ask={queries.keys}
        label="Account keys"
        columns={columns}
        cardsBelow="68em"
        one="account key"
        hint="Create one for each program and each person, with no more rights than they need."
      />
      <PortalSessions />
      <Dialog shown={isCreating || undefined} titleOf={() => 'Create an account key'} close={close}>
        {() => <CreateKeyDialog close={close} />}
      </Dialog>
      <ConfirmDialog
        shown={revoking}
        questionOf={(key) => revokeQuestion(key, ownId)}
        close={() => setRevoking(undefined)}
      />
    </>
  )
}
