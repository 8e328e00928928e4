// Renames a token in place. What the service objects to is shown under the field.
import { TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { fieldReason } from '../api/errors.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useEdit } from '../api/use-edit.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import { useToast } from '../ui/toasts.tsx'
import { InPlaceForm } from './in-place-form.tsx'

export function RenameForm({ token, onDone }: { token: Token; onDone: () => void }) {
  const toast = useToast()
  const form = useForm({ initialValues: { name: token.name } })
  const edit = useEdit({
    kind: 'token',
    name: token.name,
    now: { name: token.name, ifMatch: etagOf(token) },
    send: (client, name: string, ifMatch) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { name }, ...MASKED }),
    isThere: (name) => name.trim() === token.name,
    // In a toast, since the row may disappear: it need not match the filter any more.
    onSaved: ({ name }, base) => toast({ text: say`${<Name>{base.name}</Name>} is now called ${<Name>{name}</Name>}` }),
    close: onDone,
  })
  const former = edit.base.name
  const submit = form.onSubmit(({ name }) => {
    if (name.trim() === former) return edit.leave()
    edit.save(name, (error) => form.setErrors({ name: fieldReason(error, 'name', 'Name') }))
  })
  return (
    <InPlaceForm
      edit={edit}
      isDirty={form.isDirty()}
      onSubmit={submit}
      saves="Save"
      now={say`It is called ${<Name>{token.name}</Name>} now. Saving again renames it.`}
    >
      <TextInput size="xs" aria-label={`New name of ${former}`} autoFocus {...form.getInputProps('name')} />
    </InPlaceForm>
  )
}
