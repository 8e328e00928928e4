// Creates a token and shows its credential.
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { duplicateName, fieldErrors } from '../api/errors.ts'
import { newIdempotencyKey, useChange } from '../api/use-change.tsx'
import { SubAccountPicker } from '../sub-accounts/sub-account-picker.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { DialogButtons } from '../ui/dialog.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { useNow } from '../ui/time.tsx'
import { UnsavedChanges } from '../ui/unsaved-changes.tsx'
import { CredentialReady } from './credential-ready.tsx'

const DAY_SECONDS = 24 * 60 * 60

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'at', label: 'At a time of my choice' },
]

const LABELS = { subAccountId: 'Sub-account', name: 'Name', expiresAt: 'The time of expiry' }

interface Fields {
  readonly subAccountId: string | undefined
  readonly name: string
  readonly expiresAt: string
  /** As the browser's field has it: a time in the reader's time zone. */
  readonly at: string
}

type Request = Parameters<LatchkeyClient['createToken']>[0]

export function CreateDialog({ subAccountId, close }: { subAccountId: string | undefined; close: () => void }) {
  // Kept until a field changes: a retry is the same request to the letter, its time of expiry included.
  const [request, setRequest] = useState<Request>()
  const form = useForm<Fields>({
    initialValues: { subAccountId, name: '', expiresAt: '', at: '' },
    onValuesChange: () => setRequest(undefined),
  })
  const fields = form.values
  const create = useChange({
    kind: 'token',
    name: fields.name,
    send: (client, what: Request) => client.createToken(what),
  })
  const isPast = isPastTime(fields, useNow())
  if (create.data) return <CredentialReady token={create.data} close={close} outcome="is ready." />
  const run = () => {
    if (isPast) return
    const next = request ?? requestOf(fields, Date.now())
    setRequest(next)
    create.mutate(next, { onError: (error) => form.setErrors(errorsOf(error)) })
  }
  const isAboutFields = Object.keys(errorsOf(create.error)).length > 0
  return (
    <form onSubmit={form.onSubmit(run)}>
      <Stack gap="md">
        <SubAccountPicker
          label={LABELS.subAccountId}
          placeholder="Search by name, e-mail or company"
          value={fields.subAccountId}
          onChange={(id) => form.setFieldValue('subAccountId', id)}
          error={form.errors.subAccountId}
          autoFocus={subAccountId === undefined}
        />
        <TextInput
          label={LABELS.name}
          description="Unique within the sub-account"
          required
          data-autofocus={subAccountId !== undefined || undefined}
          {...form.getInputProps('name')}
        />
        <NativeSelect label="Expires" data={EXPIRIES} {...form.getInputProps('expiresAt')} />
        {fields.expiresAt === 'at' && (
          <TextInput
            type="datetime-local"
            label="Time of expiry, in your zone"
            required
            {...form.getInputProps('at')}
            error={isPast && 'This time is past: the token would never authenticate'}
          />
        )}
        {create.error !== null && !isAboutFields && (
          <ErrorAlert error={create.error} kind="change" retry={run} busy={create.isPending} />
        )}
        <DialogButtons>
          <BusyButton type="submit" busy={create.isPending} disabled={fields.subAccountId === undefined || isPast}>
            Create token
          </BusyButton>
        </DialogButtons>
      </Stack>
      <UnsavedChanges unsaved={form.isDirty() && !create.isPending} />
    </form>
  )
}

function errorsOf(error: unknown): { [Name in keyof typeof LABELS]?: string } {
  const duplicate = duplicateName(error)
  return duplicate === undefined ? fieldErrors(error, LABELS) : { name: duplicate }
}

/** A time within the present minute counts as past: it would be over before the service has answered. */
function isPastTime({ expiresAt, at }: Fields, now: number): boolean {
  return expiresAt === 'at' && Date.parse(at) < now + 60_000
}

function requestOf({ subAccountId = '', name, expiresAt, at }: Fields, now: number): Request {
  return {
    'idempotency-key': newIdempotencyKey(),
    body: { subAccountId, name, expiresAt: timeOf(expiresAt, at, now) },
  }
}

function timeOf(expiresAt: string, at: string, now: number): string | null {
  if (expiresAt === '') return null
  if (expiresAt === 'at') return Number.isNaN(Date.parse(at)) ? at : new Date(at).toISOString()
  return new Date(now + Number(expiresAt) * DAY_SECONDS * 1000).toISOString()
}
