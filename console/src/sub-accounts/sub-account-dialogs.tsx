// Make, change, suspend and resume a sub-account.
import { Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.tsx'
import { DialogButtons } from '../dialog.tsx'
import { Facts, Name, Outcome } from '../parts.tsx'
import { fieldProblem } from '../problems.ts'
import { ErrorAlert } from '../states.tsx'
import { useToast } from '../toasts.tsx'
import { plural } from '../words.ts'

const FIELDS = [
  { field: 'name', label: 'Name', type: 'text' },
  { field: 'companyName', label: 'Company', type: 'text' },
  { field: 'email', label: 'E-mail address', type: 'email' },
] as const

type Field = (typeof FIELDS)[number]['field']

export function SubAccountForm({ subAccount, close }: { subAccount: SubAccount | undefined; close: () => void }) {
  const toast = useToast()
  const [values, setValues] = useState<Record<Field, string>>({
    name: subAccount?.name ?? '',
    companyName: subAccount?.companyName ?? '',
    email: subAccount?.email ?? '',
  })
  // Only what was changed here: what somebody else has changed meanwhile stays as they left it.
  const changed = FIELDS.map(({ field }) => field).filter((field) => values[field].trim() !== subAccount?.[field])
  const save = useChange(
    'sub-account',
    values.name,
    (client) =>
      subAccount === undefined
        ? client.createSubAccount({ body: values })
        : client.updateSubAccount({
            id: subAccount._id,
            body: Object.fromEntries(changed.map((field) => [field, values[field]])),
          }),
    (saved) =>
      toast({ text: <Outcome name={saved.name} what={subAccount === undefined ? 'is created' : 'is saved'} /> }),
  )
  const run = () => {
    if (changed.length === 0) close()
    else save.mutate(undefined, { onSuccess: close })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run()
  }
  const placed = FIELDS.some(({ field, label }) => fieldProblem(save.error, field, label) !== undefined)
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        {FIELDS.map(({ field, label, type }, index) => (
          <TextInput
            key={field}
            label={label}
            type={type}
            required
            value={values[field]}
            error={fieldProblem(save.error, field, label)}
            onChange={(event) => setValues({ ...values, [field]: event.currentTarget.value })}
            {...(index === 0 ? { 'data-autofocus': true } : {})}
          />
        ))}
        {save.error !== null && !placed && (
          <ErrorAlert error={save.error} asked="change" retry={run} busy={save.isPending} />
        )}
        <DialogButtons>
          <BusyButton type="submit" busy={save.isPending}>
            {subAccount === undefined ? 'Create sub-account' : 'Save'}
          </BusyButton>
        </DialogButtons>
      </Stack>
    </form>
  )
}

export function SuspendDialog({ subAccount, close }: { subAccount: SubAccount; close: () => void }) {
  const { mutate, error, isPending } = useSetSuspended(subAccount)
  const suspending = subAccount.status === 'active'
  const confirm = () => mutate({ status: otherStatus(subAccount), undoable: true }, { onSuccess: close })
  return (
    <Stack gap="md">
      <Text size="sm">
        {suspending
          ? 'While it is suspended none of its tokens authenticates. Their own status stays as it is.'
          : 'Its active tokens authenticate again from the moment the service confirms.'}
      </Text>
      <Facts
        rows={[
          ['Sub-account', <Name key="name">{subAccount.name}</Name>],
          ['Company', <Name key="company">{subAccount.companyName}</Name>],
          [suspending ? 'Cut off' : 'Back to work', plural(subAccount.tokens.active, 'active token')],
        ]}
      />
      {error !== null && <ErrorAlert error={error} asked="change" retry={confirm} busy={isPending} />}
      <DialogButtons>
        <BusyButton color={suspending ? 'red' : 'indigo'} busy={isPending} onClick={confirm} data-autofocus>
          {suspending ? 'Suspend' : 'Resume'}
        </BusyButton>
      </DialogButtons>
    </Stack>
  )
}

type Status = SubAccount['status']
const otherStatus = ({ status }: SubAccount): Status => (status === 'active' ? 'suspended' : 'active')

function useSetSuspended(subAccount: SubAccount) {
  const toast = useToast()
  const change = useChange(
    'sub-account',
    subAccount.name,
    (client, { status }: { status: Status; undoable: boolean }) =>
      client.updateSubAccount({ id: subAccount._id, body: { status } }),
    (confirmed, { undoable }) => {
      const undo = () => change.mutate({ status: otherStatus(confirmed), undoable: false })
      const what = confirmed.status === 'active' ? 'is resumed' : 'is suspended'
      toast({ text: <Outcome name={confirmed.name} what={what} />, ...(undoable ? { undo } : {}) })
    },
  )
  return change
}
