// Creates a token and shows its credential.
import { Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { newIdempotencyKey } from '../../../client/request.ts'
import { duplicateName, fieldErrors } from '../api/errors.ts'
import { useChange } from '../api/use-change.tsx'
import { SubAccountPicker } from '../sub-accounts/sub-account-picker.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { type Expiry, ExpiryInput, isPastTime, timeOf } from '../ui/expiry-input.tsx'
import { useNow } from '../ui/time.tsx'
import { CredentialReady, unseenCredential } from './credential-ready.tsx'

const LABELS = { subAccountId: 'Sub-account', name: 'Name', expiresAt: 'The time of expiry' }

interface Fields extends Expiry {
  readonly subAccountId: string | undefined
  readonly name: string
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
    unseen: unseenCredential,
  })
  const isPast = isPastTime(fields, useNow())
  if (create.data)
    return <CredentialReady token={create.data} close={close} title="Token created" outcome="is ready." />
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
        <ExpiryInput
          choice={form.getInputProps('expiresAt')}
          time={form.getInputProps('at')}
          past={isPast && 'This time is past: the token would never authenticate'}
        />
        <ChangeButtons
          change={create}
          run={run}
          submits
          isAboutFields={isAboutFields}
          disabled={fields.subAccountId === undefined || isPast}
        >
          Create token
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !create.isPending ? 'typed' : undefined} />
    </form>
  )
}

function errorsOf(error: unknown): { [Name in keyof typeof LABELS]?: string } {
  const duplicate = duplicateName(error)
  return duplicate === undefined ? fieldErrors(error, LABELS) : { name: duplicate }
}

function requestOf({ subAccountId = '', name, ...expiry }: Fields, now: number): Request {
  return {
    'idempotency-key': newIdempotencyKey(),
    body: { subAccountId, name, expiresAt: timeOf(expiry, now) },
  }
}
