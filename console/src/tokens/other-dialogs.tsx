// Create, rotate and delete: each asks once, and shows what came of it.
import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import type { LatchkeyClient, Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { newIdempotencyKey, useChange } from '../changes.tsx'
import { NewCredential } from '../credential.tsx'
import { DialogButtons } from '../dialog.tsx'
import { Name, Outcome, useNow } from '../parts.tsx'
import { SubAccountPicker } from '../picker.tsx'
import { fieldProblem, reasonOf } from '../problems.ts'
import { ErrorAlert } from '../states.tsx'
import { useToast } from '../toasts.tsx'
import { AboutToken } from './status-dialog.tsx'

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
  const create = useChange(fields.name, (client, what: Attempt) => client.createToken(what))
  const past = isPast(fields, useNow())
  if (create.data) return <Made token={create.data} close={close} text="is ready." />
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

const OVERLAPS = [
  { value: '0', label: 'Stop it at once' },
  { value: '3600', label: 'For 1 more hour' },
  { value: `${DAY_SECONDS}`, label: 'For 1 more day' },
  { value: `${7 * DAY_SECONDS}`, label: 'For 7 more days' },
  { value: `${30 * DAY_SECONDS}`, label: 'For 30 more days' },
]

export function RotateDialog({ token, close }: { token: Token; close: () => void }) {
  const [overlap, setOverlap] = useState(`${DAY_SECONDS}`)
  const rotate = useChange(token.name, (client) =>
    client.rotateToken({ id: token._id, body: { overlapSeconds: Number(overlap) } }),
  )
  const label = OVERLAPS.find(({ value }) => value === overlap)?.label.toLowerCase()
  if (rotate.data) {
    const former = overlap === '0' ? 'The former one no longer works.' : `The former one works ${label}.`
    return <Made token={rotate.data} close={close} text={`has a new credential. ${former}`} />
  }
  return (
    <Stack gap="md">
      <Text size="sm">The token keeps its id, name and history, and gets a new credential.</Text>
      <AboutToken token={token} />
      <NativeSelect
        label="The present credential"
        description="An overlap lets you replace it wherever it is in use, without an interruption"
        value={overlap}
        data={OVERLAPS}
        onChange={(event) => setOverlap(event.currentTarget.value)}
        data-autofocus
      />
      {rotate.error !== null && (
        <ErrorAlert error={rotate.error} asked="change" retry={() => rotate.mutate()} busy={rotate.isPending} />
      )}
      <DialogButtons>
        <BusyButton busy={rotate.isPending} onClick={() => rotate.mutate()}>
          Rotate credential
        </BusyButton>
      </DialogButtons>
    </Stack>
  )
}

function Made({ token, text, close }: { token: Token; text: string; close: () => void }) {
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        <Outcome name={token.name} what={text} />
      </Text>
      <NewCredential value={token.token} />
      <Text size="sm" className="dim">
        It can be revealed in the list at any time.
      </Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={close}>
          Done
        </Button>
      </Group>
    </Stack>
  )
}

export function DeleteDialog({ token, close }: { token: Token; close: () => void }) {
  const [typed, setTyped] = useState('')
  const toast = useToast()
  const remove = useChange(
    token.name,
    (client) => client.deleteToken({ id: token._id }),
    () => toast({ text: <Outcome name={token.name} what="is deleted" /> }),
  )
  const run = () => remove.mutate(undefined, { onSuccess: close })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    run()
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text size="sm">
          This cannot be undone: the credential is refused at once and can never work again. To switch it off for a
          while, disable it instead.
        </Text>
        <AboutToken token={token} />
        <TextInput
          label={
            <>
              Type <Name>{token.name}</Name> to delete it
            </>
          }
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          data-autofocus
        />
        {remove.error !== null && (
          <ErrorAlert error={remove.error} asked="change" retry={run} busy={remove.isPending} />
        )}
        <DialogButtons>
          <BusyButton
            type="submit"
            color="red"
            disabled={typed.trim().normalize('NFC') !== token.name}
            busy={remove.isPending}
          >
            Delete token
          </BusyButton>
        </DialogButtons>
      </Stack>
    </form>
  )
}
