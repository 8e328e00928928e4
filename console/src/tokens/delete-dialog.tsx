// Deletes a token, once its name has been typed.
import { Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { isConflict } from '../api/errors.ts'
import { etagOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { AboutToken } from './about-token.tsx'
import { ChangedMeanwhile, useTokenNow } from './changed-meanwhile.tsx'

interface DeleteDialogProps {
  readonly token: Token
  readonly close: () => void
  readonly onDeleted: (() => void) | undefined
}

export function DeleteDialog({ token: opened, close, onDeleted }: DeleteDialogProps) {
  const form = useForm({ initialValues: { name: '' } })
  const toast = useToast()
  const remove = useChange({
    kind: 'token',
    name: opened.name,
    send: (client, token: Token) => client.deleteToken({ id: token._id, 'if-match': etagOf(token) }),
    onDone: (_, { name }) => toast({ text: <Outcome name={name} what="is deleted" /> }),
  })
  const token = useTokenNow(opened, remove.error)
  const isNamed = form.values.name.trim().normalize('NFC') === token.name
  // Not called once the dialog is gone: a person who has opened another page stays there.
  const onSuccess = () => {
    close()
    onDeleted?.()
  }
  const run = () => {
    if (isNamed) remove.mutate(token, { onSuccess })
  }
  return (
    <form onSubmit={form.onSubmit(run)}>
      <Stack gap="md">
        <Text size="sm">
          This cannot be undone: the credential is refused at once and can never work again. To switch it off for a
          while, disable it instead.
        </Text>
        <AboutToken token={token} />
        <TextInput
          label={
            <>
              Type <Name>{token.name}</Name> to delete it
            </>
          }
          autoComplete="off"
          data-autofocus
          {...form.getInputProps('name')}
        />
        {isConflict(remove.error) && <ChangedMeanwhile opened={opened} now={token} />}
        <ChangeButtons
          change={remove}
          run={run}
          submits
          isAboutFields={isConflict(remove.error)}
          color="red"
          disabled={!isNamed}
        >
          Delete token
        </ChangeButtons>
      </Stack>
    </form>
  )
}
