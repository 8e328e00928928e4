// Makes a session of the portal for a sub-account's own developers, and shows the link that begins it.
import { Fieldset, NativeSelect, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { use } from 'react'
import type { CreatedPortalSession, NewPortalSession, SubAccount } from '../../../client/latchkey-client.ts'
import { invalidate } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { CheckCard } from '../keys/choices.tsx'
import { ChangeButtons, DoneButton, useDialogTitle } from '../ui/dialog.tsx'
import { DialogContext } from '../ui/dialog-context.ts'
import { Name } from '../ui/name.tsx'
import { NewCredential } from '../ui/new-credential.tsx'
import { Moment } from '../ui/time.tsx'

type Use = NonNullable<NewPortalSession['may']>[number]

const USES: Readonly<Record<Use, { readonly label: string; readonly description: string }>> = {
  read: { label: 'See tokens', description: 'With the last four characters of their credentials' },
  create: { label: 'Create tokens', description: 'Each within the policy of the sub-account' },
  rotate: { label: 'Rotate tokens', description: 'The new credential is shown once, to them' },
  disable: { label: 'Disable tokens', description: 'Not enable: what you have disabled stays so' },
  usage: { label: 'See usage', description: 'How often tokens were accepted and refused' },
}

const LASTING = [
  { value: '3600', label: 'An hour' },
  { value: '28800', label: 'Eight hours' },
  { value: '86400', label: 'A day' },
]

interface PortalDialogProps {
  readonly subAccount: SubAccount
  readonly close: () => void
}

export function PortalDialog({ subAccount, close }: PortalDialogProps) {
  const form = useForm({ initialValues: { may: Object.keys(USES) as Use[], seconds: '3600' } })
  const create = usePortalSession()
  const isPerson = useSession().presence?.person != null
  if (create.data) return <LinkReady subAccount={subAccount} session={create.data} close={close} />
  const { may, seconds } = form.values
  const run = () => create.mutate({ subAccountId: subAccount._id, may, expiresInSeconds: Number(seconds) })
  const uses = Object.entries(USES) as [Use, (typeof USES)[Use]][]
  return (
    <form onSubmit={form.onSubmit(run)}>
      <Stack gap="md">
        <Text size="sm">
          Their developers get a page with the tokens of <Name>{subAccount.name}</Name> and nothing else, without an
          account here.
        </Text>
        <Fieldset variant="unstyled" p={0} legend="What may they do?">
          <Stack gap={8}>
            {uses.map(([use, words]) => (
              <CheckCard
                key={use}
                {...words}
                checked={may.includes(use)}
                onChange={({ currentTarget: { checked } }) =>
                  form.setFieldValue('may', checked ? [...may, use] : may.filter((each) => each !== use))
                }
              />
            ))}
          </Stack>
        </Fieldset>
        <NativeSelect
          label="For how long?"
          description={isPerson && 'At most until you sign out, or your session here ends'}
          data={LASTING}
          {...form.getInputProps('seconds')}
        />
        <ChangeButtons change={create} run={run} submits disabled={may.length === 0}>
          Make link
        </ChangeButtons>
      </Stack>
    </form>
  )
}

/** The link is for the dialog only, and not kept. */
function usePortalSession() {
  const client = useClient()
  const cache = useQueryClient()
  const dialog = use(DialogContext)
  return useMutation({
    ...(dialog && { mutationKey: dialog.mutationKey }),
    mutationFn: (body: NewPortalSession) => client.createPortalSession({ body }),
    onSettled: () => invalidate(cache, 'sub-account'),
    gcTime: 0,
  })
}

function LinkReady({ subAccount, session, close }: PortalDialogProps & { readonly session: CreatedPortalSession }) {
  useDialogTitle('Link to the portal')
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        Send this link to <Name>{subAccount.name}</Name>. It works once, within 15 minutes; what it opens ends{' '}
        <Moment at={session.expiresAt} />.
      </Text>
      <NewCredential value={new URL(session.url, location.origin).href} what="link" of={subAccount.name} />
      <Text size="sm" c="dimmed">
        The first person who opens it gets in: send it to nobody else. It is hidden after a minute.
      </Text>
      <DoneButton close={close} />
    </Stack>
  )
}
