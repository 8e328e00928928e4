// Deletes a token, once its name has been typed.
import { Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { AboutToken } from './about-token.tsx'

interface DeleteDialogProps {
  readonly token: Token
  readonly close: () => void
  readonly onDeleted: (() => void) | undefined
}

export function DeleteDialog({ token, close, onDeleted }: DeleteDialogProps) {
  const form = useForm({ initialValues: { name: '' } })
  const toast = useToast()
  const remove = useChange({
    kind: 'token',
    name: token.name,
    send: (client) => client.deleteToken({ id: token._id }),
    onDone() {
      toast({ text: <Outcome name={token.name} what="is deleted" /> })
      onDeleted?.()
    },
  })
  const isNamed = form.values.name.trim().normalize('NFC') === token.name
  const run = () => remove.mutate(undefined, { onSuccess: close })
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
        <ChangeButtons change={remove} run={run} submits color="red" disabled={!isNamed}>
          Delete token
        </ChangeButtons>
      </Stack>
    </form>
  )
}
