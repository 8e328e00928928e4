// Renames a token in place: Enter saves, Escape leaves, and what the service objects to is shown under the field.
import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { fieldErrors, shortReason } from '../api/errors.ts'
import { MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import { useToast } from '../ui/toasts.tsx'
import { UnsavedChanges } from '../ui/unsaved-changes.tsx'

export function RenameForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  // As it was when the form was opened: a refresh may bring a name that somebody else has given it meanwhile.
  const [former] = useState(token.name)
  const form = useForm({ initialValues: { name: former } })
  const rename = useChange({
    kind: 'token',
    name: former,
    send: (client, name: string) => client.updateToken({ id: token._id, body: { name }, ...MASKED }),
    onDone(renamed) {
      // In a toast, since the row may disappear: it need not match the filter any more.
      toast({ text: say`${<Name>{former}</Name>} is now called ${<Name>{renamed.name}</Name>}` })
      onDone()
    },
  })
  const leave = () => {
    if (!rename.isPending) onDone()
  }
  const submit = form.onSubmit(({ name }) => {
    if (name.trim() === former) return leave()
    const onError = (error: unknown) =>
      form.setErrors({ name: fieldErrors(error, { name: 'Name' }).name ?? shortReason(error) })
    rename.mutate(name, { onError })
  })
  return (
    <form
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave()
      }}
    >
      <Stack gap={6} miw={180}>
        <TextInput
          size="xs"
          aria-label={`New name of ${former}`}
          autoFocus
          errorProps={{ role: 'alert' }}
          {...form.getInputProps('name')}
        />
        <Group gap={6}>
          <BusyButton type="submit" size="compact-xs" busy={rename.isPending}>
            Save
          </BusyButton>
          <Button size="compact-xs" variant="default" aria-disabled={rename.isPending} onClick={leave}>
            Cancel
          </Button>
        </Group>
      </Stack>
      <UnsavedChanges unsaved={form.isDirty() && !rename.isPending} />
    </form>
  )
}
