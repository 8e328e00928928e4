// Make, change, suspend and resume a sub-account.
import { Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.ts'
import { Facts, Name } from '../parts.tsx'
import { fieldProblem } from '../problems.ts'
import { Trouble } from '../states.tsx'
import { useToast } from '../toasts.tsx'
import { plural } from '../words.ts'

const FIELDS = [
  { field: 'name', label: 'Name', type: 'text' },
  { field: 'companyName', label: 'Company', type: 'text' },
  { field: 'email', label: 'E-mail address', type: 'email' },
] as const

type Field = (typeof FIELDS)[number]['field']

export function SubAccountForm({ subAccount, close }: { subAccount?: SubAccount; close: () => void }) {
  const toast = useToast()
  const [values, setValues] = useState<Record<Field, string>>({
    name: subAccount?.name ?? '',
    companyName: subAccount?.companyName ?? '',
    email: subAccount?.email ?? '',
  })
  const save = useChange((client) =>
    subAccount === undefined
      ? client.createSubAccount({ body: values })
      : client.updateSubAccount({ id: subAccount._id, body: values }),
  )
  const run = () =>
    save.mutate(undefined, {
      onSuccess(saved) {
        toast({ text: <Said name={saved.name} what={subAccount === undefined ? 'is created' : 'is saved'} /> })
        close()
      },
    })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run()
  }
  const placed = FIELDS.some(({ field }) => fieldProblem(save.error, field) !== undefined)
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        {FIELDS.map(({ field, label, type }, index) => (
          <TextInput
            key={field}
            label={label}
            type={type}
            required
            maxLength={255}
            value={values[field]}
            error={fieldProblem(save.error, field)}
            onChange={(event) => setValues({ ...values, [field]: event.currentTarget.value })}
            {...(index === 0 ? { 'data-autofocus': true } : {})}
          />
        ))}
        {save.error !== null && !placed && <Trouble error={save.error} retry={run} busy={save.isPending} />}
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <BusyButton type="submit" busy={save.isPending}>
            {subAccount === undefined ? 'Create sub-account' : 'Save'}
          </BusyButton>
        </Group>
      </Stack>
    </form>
  )
}

export function SuspendDialog({ subAccount, close }: { subAccount: SubAccount; close: () => void }) {
  const { set, error, busy } = useSetSuspended()
  const suspending = subAccount.status === 'active'
  const confirm = () => {
    set(subAccount, suspending ? 'suspended' : 'active').then(close, () => {})
  }
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
      {error !== null && <Trouble error={error} retry={confirm} busy={busy} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={close}>
          Cancel
        </Button>
        <BusyButton color={suspending ? 'red' : 'indigo'} busy={busy} onClick={confirm} data-autofocus>
          {suspending ? 'Suspend' : 'Resume'}
        </BusyButton>
      </Group>
    </Stack>
  )
}

function useSetSuspended() {
  const toast = useToast()
  const change = useChange((client, { id, status }: { id: string; status: SubAccount['status'] }) =>
    client.updateSubAccount({ id, body: { status } }),
  )
  const set = async (subAccount: SubAccount, status: SubAccount['status'], undoable = true): Promise<void> => {
    const confirmed = await change.mutateAsync({ id: subAccount._id, status })
    const undo = () => {
      set(subAccount, status === 'active' ? 'suspended' : 'active', false).catch(() =>
        toast({ text: <Said name={subAccount.name} what="was not changed back" />, tone: 'bad' }),
      )
    }
    const what = confirmed.status === 'active' ? 'is resumed' : 'is suspended'
    toast({ text: <Said name={confirmed.name} what={what} />, ...(undoable ? { undo } : {}) })
  }
  return { set, error: change.error, busy: change.isPending }
}

function Said({ name, what }: { name: string; what: string }) {
  return (
    <>
      <Name>{name}</Name> {what}
    </>
  )
}
