// Deletes a token, once its name has been typed.
import { Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.tsx'
import { DialogButtons } from '../dialog.tsx'
import { Name, Outcome } from '../parts.tsx'
import { ErrorAlert } from '../states.tsx'
import { useToast } from '../toasts.tsx'
import { AboutToken } from './status-dialog.tsx'

export function DeleteDialog({ token, close }: { token: Token; close: () => void }) {
  const [typed, setTyped] = useState('')
  const toast = useToast()
  const remove = useChange(
    'token',
    token.name,
    (client) => client.deleteToken({ id: token._id }),
    () => toast({ text: <Outcome name={token.name} what="is deleted" /> }),
  )
  const run = () => remove.mutate(undefined, { onSuccess: close })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run()
  }
  return (
    <form onSubmit={submit}>
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
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
        />
        {remove.error !== null && (
          <ErrorAlert error={remove.error} asked="change" retry={run} busy={remove.isPending} />
        )}
        <DialogButtons>
          <BusyButton
            type="submit"
            color="red"
            disabled={typed.trim().normalize('NFC') !== token.name}
            busy={remove.isPending}
          >
            Delete token
          </BusyButton>
        </DialogButtons>
      </Stack>
    </form>
  )
}
