// Creates or edits a sub-account.
import { Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { fieldErrors } from '../api/errors.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'

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
  const save = useChange({
    kind: 'sub-account',
    name: form.values.name,
    send: (client, fields: Partial<Fields>) =>
      subAccount === undefined
        ? client.createSubAccount({ body: fields as Fields })
        : client.updateSubAccount({ id: subAccount._id, body: fields }),
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
  const isAboutFields = Object.keys(fieldErrors(save.error, LABELS)).length > 0
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
