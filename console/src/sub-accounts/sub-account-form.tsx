// Creates or edits a sub-account.
import { Stack, TextInput } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { CONFLICT, fieldErrors } from '../api/errors.ts'
import { queries, withETag } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { useEdit } from '../api/use-edit.ts'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { say, together } from '../ui/say.ts'
import { useToast } from '../ui/toasts.tsx'
import { Warning } from '../ui/warning.tsx'

const LABELS = { name: 'Name', companyName: 'Company', email: 'E-mail address' }
type Fields = Record<keyof typeof LABELS, string>
const FIELDS = Object.keys(LABELS) as (keyof Fields)[]
const HINT = 'If the list has it already, cancel: trying again makes a second one, and a sub-account cannot be deleted.'

export function CreateSubAccount({ close }: { close: () => void }) {
  const toast = useToast()
  const form = useForm<Fields>({ initialValues: { name: '', companyName: '', email: '' } })
  const create = useChange({
    kind: 'sub-account',
    name: form.values.name,
    send: (client, body: Fields) => client.createSubAccount({ body }),
    onDone: ({ name }) => toast({ text: <Outcome name={name} what="is created" /> }),
  })
  const run = () =>
    create.mutate(form.values, {
      onSuccess: close,
      onError: (error) => form.setErrors(fieldErrors(error, LABELS)),
    })
  return (
    <SubAccountFields form={form} change={create} run={run} hint={HINT}>
      Create sub-account
    </SubAccountFields>
  )
}

/** Read before it is edited, however fresh what is shown is: a list may show an earlier version. */
export function EditSubAccount({ id, close }: { id: string; close: () => void }) {
  const found = useQuery({ ...queries.subAccount(useClient(), id), staleTime: 0 })
  const query = { ...found, data: found.isFetchedAfterMount ? found.data : undefined }
  return (
    <QueryResult query={query} what="the sub-account">
      {(now) => <EditForm now={now} close={close} />}
    </QueryResult>
  )
}

type Versioned = SubAccount & { readonly etag: string | undefined }

function EditForm({ now, close }: { now: Versioned; close: () => void }) {
  const toast = useToast()
  const { name, companyName, email } = now
  const form = useForm<Fields>({ initialValues: { name, companyName, email } })
  const edit = useEdit({
    kind: 'sub-account',
    name,
    now: { ...now, ifMatch: now.etag },
    send: (client, body: Partial<Fields>, ifMatch) =>
      withETag(client.patchSubAccount({ id: now._id, 'if-match': ifMatch, body })),
    isThere: (body) => FIELDS.every((field) => !(field in body) || body[field]?.trim() === now[field]),
    onSaved: (saved) => toast({ text: <Outcome name={saved.name} what="is saved" /> }),
    close,
  })
  const { base, hasConflict, isRead } = edit
  const run = () => {
    // Only what was changed here: what somebody else has changed meanwhile is not overwritten.
    const changed = FIELDS.filter((field) => form.values[field].trim() !== base[field])
    const body: Partial<Fields> = Object.fromEntries(changed.map((field) => [field, form.values[field]]))
    edit.save(body, (error) => form.setErrors(fieldErrors(error, LABELS)))
  }
  const others = FIELDS.filter((field) => now[field] !== base[field])
  return (
    <SubAccountFields
      form={form}
      change={{ error: edit.error, isPending: edit.isPending || !isRead }}
      run={run}
      conflict={
        hasConflict && (
          <Warning role="status">
            {CONFLICT}{' '}
            {isRead
              ? together(others.map((field) => say`${LABELS[field]} is ${<Name>{now[field]}</Name>} now. `))
              : 'What has changed is being read …'}
            {isRead && 'Where you have changed the same, saving replaces that.'}
          </Warning>
        )
      }
    >
      Save
    </SubAccountFields>
  )
}

interface SubAccountFieldsProps {
  readonly form: UseFormReturnType<Fields>
  readonly change: { readonly error: unknown; readonly isPending: boolean }
  readonly run: () => void
  readonly conflict?: ReactNode
  readonly hint?: string
  readonly children: string
}

function SubAccountFields({ form, change, run, conflict, hint, children }: SubAccountFieldsProps) {
  const isAboutFields = Boolean(conflict) || Object.keys(fieldErrors(change.error, LABELS)).length > 0
  return (
    <form onSubmit={form.onSubmit(run)} noValidate>
      <Stack gap="md">
        {FIELDS.map((field, index) => (
          <TextInput
            key={field}
            label={LABELS[field]}
            type={field === 'email' ? 'email' : 'text'}
            required
            autoFocus={index === 0}
            data-autofocus={index === 0 || undefined}
            {...form.getInputProps(field)}
          />
        ))}
        {conflict}
        <ChangeButtons change={change} run={run} submits isAboutFields={isAboutFields} hint={hint}>
          {children}
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !change.isPending ? 'typed' : undefined} />
    </form>
  )
}
