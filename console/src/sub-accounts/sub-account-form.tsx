// Creates or edits a sub-account.
import { Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { CONFLICT, conflict, fieldErrors, isConflict } from '../api/errors.ts'
import { withETag } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { say, together } from '../ui/say.ts'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'

const LABELS = { name: 'Name', companyName: 'Company', email: 'E-mail address' }
type Fields = Record<keyof typeof LABELS, string>
const FIELDS = Object.keys(LABELS) as (keyof Fields)[]
const HINT = 'If the list has it already, cancel: trying again makes a second one, and a sub-account cannot be deleted.'

export function SubAccountForm({ subAccount, close }: { subAccount: SubAccount | undefined; close: () => void }) {
  const toast = useToast()
  const form = useForm<Fields>({
    initialValues: {
      name: subAccount?.name ?? '',
      companyName: subAccount?.companyName ?? '',
      email: subAccount?.email ?? '',
    },
  })
  // As the person knows it: as the form was opened with it, or as it was when it was read again.
  const [seen, setSeen] = useState(subAccount)
  const save = useChange({
    kind: 'sub-account',
    name: form.values.name,
    async send(client, fields: Partial<Fields>) {
      if (seen === undefined) return withETag(client.createSubAccount({ body: fields as Fields }))
      const { etag, ...now } = await withETag(client.getSubAccount({ id: seen._id }))
      // What is there already may be from an attempt whose answer was lost.
      const isUnseen = (field: keyof Fields) => ![seen[field], fields[field]?.trim()].includes(now[field])
      if (FIELDS.some((field) => field in fields && isUnseen(field))) {
        setSeen(now)
        throw conflict()
      }
      return withETag(client.updateSubAccount({ id: seen._id, 'if-match': etag, body: fields }))
    },
    onDone: ({ name }) =>
      toast({ text: <Outcome name={name} what={subAccount === undefined ? 'is created' : 'is saved'} /> }),
  })
  const run = () => {
    // Only what was changed here: what somebody else has changed meanwhile is not overwritten.
    const changed = FIELDS.filter((field) => form.values[field].trim() !== subAccount?.[field])
    if (changed.length === 0) return close()
    save.mutate(Object.fromEntries(changed.map((field) => [field, form.values[field]])), {
      onSuccess: close,
      onError: (error) => form.setErrors(fieldErrors(error, LABELS)),
    })
  }
  const hasConflict = isConflict(save.error)
  const others = FIELDS.filter((field) => seen?.[field] !== subAccount?.[field])
  const isAboutFields = hasConflict || Object.keys(fieldErrors(save.error, LABELS)).length > 0
  return (
    <form onSubmit={form.onSubmit(run)} noValidate>
      <Stack gap="md">
        {FIELDS.map((field, index) => (
          <TextInput
            key={field}
            label={LABELS[field]}
            type={field === 'email' ? 'email' : 'text'}
            required
            data-autofocus={index === 0 || undefined}
            {...form.getInputProps(field)}
          />
        ))}
        {hasConflict && (
          <Warning role="status">
            {CONFLICT}{' '}
            {together(others.map((field) => say`${LABELS[field]} is ${<Name>{seen?.[field] ?? ''}</Name>} now. `))}
            {others.length > 0 && 'Where you have changed the same, saving replaces that.'}
          </Warning>
        )}
        <ChangeButtons
          change={save}
          run={run}
          submits
          isAboutFields={isAboutFields}
          hint={subAccount ? undefined : HINT}
        >
          {subAccount === undefined ? 'Create sub-account' : 'Save'}
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !save.isPending ? 'typed' : undefined} />
    </form>
  )
}
