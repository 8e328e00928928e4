// Renames a token in place: Enter saves, Escape leaves, and what the service objects to is shown under the field.
import { Button, Group, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { CONFLICT, fieldErrors, isConflict, shortReason } from '../api/errors.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { useToast } from '../ui/toasts.tsx'

export function RenameForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  // As it was when the form was opened: a refresh may bring a name that somebody else has given it meanwhile.
  const [base] = useState(token)
  const former = base.name
  const form = useForm({ initialValues: { name: former } })
  const rename = useChange({
    kind: 'token',
    name: former,
    send: (client, { name, ifMatch }: { name: string; ifMatch: string | undefined }) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { name }, ...MASKED }),
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
    // What it is called already may be from an attempt whose answer was lost.
    if ([former, token.name].includes(name.trim())) return leave()
    // The person has seen the other change by now: theirs is sent with the version that includes it.
    const ifMatch = etagOf(isConflict(rename.error) ? token : base)
    rename.mutate({ name, ifMatch }, { onError: (error) => form.setErrors({ name: reasonOf(error) }) })
  })
  // The version that was refused is not the one with the other change.
  const isRead = etagOf(token) !== rename.variables?.ifMatch
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
        {isConflict(rename.error) && (
          <span className={text.small}>
            {isRead
              ? say`It is called ${<Name>{token.name}</Name>} now. Saving again renames it.`
              : 'What has changed is being read …'}
          </span>
        )}
        <Group gap={6}>
          <BusyButton type="submit" size="compact-xs" busy={rename.isPending || (isConflict(rename.error) && !isRead)}>
            Save
          </BusyButton>
          <Button size="compact-xs" variant="default" aria-disabled={rename.isPending} onClick={leave}>
            Cancel
          </Button>
        </Group>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !rename.isPending ? 'typed' : undefined} />
    </form>
  )
}

function reasonOf(error: unknown): string {
  if (isConflict(error)) return CONFLICT
  return fieldErrors(error, { name: 'Name' }).name ?? shortReason(error)
}
