// Creates a token and shows its credential.
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { newIdempotencyKey, useChange } from '../changes.tsx'
import { DialogButtons } from '../dialog.tsx'
import { useNow } from '../parts.tsx'
import { SubAccountPicker } from '../picker.tsx'
import { fieldProblem, reasonOf } from '../problems.ts'
import { ErrorAlert } from '../states.tsx'
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

interface Fields {
  readonly owner: string | undefined
  readonly name: string
  readonly expiry: string
  /** As the browser's field has it: a time in the reader's own zone. */
  readonly at: string
}

type Attempt = Parameters<LatchkeyClient['createToken']>[0]

export function CreateDialog({ subAccountId, close }: { subAccountId: string | undefined; close: () => void }) {
  const [fields, setFields] = useState<Fields>({ owner: subAccountId, name: '', expiry: '', at: '' })
  // Kept until a field changes: a retry is the same request to the letter, its time of expiry included.
  const [attempt, setAttempt] = useState<Attempt>()
  const create = useChange('token', fields.name, (client, what: Attempt) => client.createToken(what))
  const past = isPast(fields, useNow())
  if (create.data) return <CredentialReady token={create.data} close={close} outcome="is ready." />
  const edit = (part: Partial<Fields>) => {
    setFields({ ...fields, ...part })
    setAttempt(undefined)
  }
  const run = () => {
    if (past) return
    const next = attempt ?? attemptOf(fields, Date.now())
    setAttempt(next)
    create.mutate(next)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run()
  }
  const { owner, name, expiry, at } = fields
  const { error } = create
  const nameProblem = fieldProblem(error, 'name', 'Name') ?? duplicate(error)
  const ownerProblem = fieldProblem(error, 'subAccountId', 'Sub-account')
  const expiryProblem = fieldProblem(error, 'expiresAt', 'The time of expiry')
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <SubAccountPicker
          label="Sub-account"
          placeholder="Search by name, e-mail or company"
          value={owner}
          onChange={(id) => edit({ owner: id })}
          error={ownerProblem}
          autoFocus={subAccountId === undefined}
        />
        <TextInput
          label="Name"
          description="Unique within the sub-account"
          required
          value={name}
          error={nameProblem}
          onChange={(event) => edit({ name: event.currentTarget.value })}
          data-autofocus={subAccountId !== undefined || undefined}
        />
        <NativeSelect
          label="Expires"
          value={expiry}
          data={EXPIRIES}
          error={expiryProblem}
          onChange={(event) => edit({ expiry: event.currentTarget.value })}
        />
        {expiry === 'at' && (
          <TextInput
            type="datetime-local"
            label="Time of expiry, in your zone"
            required
            value={at}
            error={past && 'This time is past: the token would never authenticate'}
            onChange={(event) => edit({ at: event.currentTarget.value })}
          />
        )}
        {error !== null && !nameProblem && !ownerProblem && !expiryProblem && (
          <ErrorAlert error={error} asked="change" retry={run} busy={create.isPending} />
        )}
        <DialogButtons>
          <BusyButton type="submit" busy={create.isPending} disabled={owner === undefined || past}>
            Create token
          </BusyButton>
        </DialogButtons>
      </Stack>
    </form>
  )
}

/** The service names no field for a name that is taken, since nothing is wrong with the name itself. */
function duplicate(error: unknown): string | undefined {
  const reason = error === null ? '' : reasonOf(error)
  return reason.startsWith('Token name') ? reason : undefined
}

/** A time within the present minute counts as past: it would be before the service has answered. */
function isPast({ expiry, at }: Fields, now: number): boolean {
  return expiry === 'at' && Date.parse(at) < now + 60_000
}

function attemptOf({ owner = '', name, expiry, at }: Fields, now: number): Attempt {
  return {
    'idempotency-key': newIdempotencyKey(),
    body: { subAccountId: owner, name, expiresAt: expiresAt(expiry, at, now) },
  }
}

function expiresAt(expiry: string, at: string, now: number): string | null {
  if (expiry === '') return null
  if (expiry === 'at') return Number.isNaN(Date.parse(at)) ? at : new Date(at).toISOString()
  return new Date(now + Number(expiry) * DAY_SECONDS * 1000).toISOString()
}
