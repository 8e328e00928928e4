// Makes an account key with the rights that are chosen, and shows it once.
import { Fieldset, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { NewKey } from '../../../client/latchkey-client.ts'
import { fieldErrors } from '../api/errors.ts'
import { type Permissions, usePermissions } from '../api/permissions.ts'
import { useChange } from '../api/use-change.tsx'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { ChangeButtons, DoneButton, useDialogTitle } from '../ui/dialog.tsx'
import { type Expiry, ExpiryInput, isPastTime, timeOf } from '../ui/expiry-input.tsx'
import { Outcome } from '../ui/name.tsx'
import { NewCredential } from '../ui/new-credential.tsx'
import { useNow } from '../ui/time.tsx'
import { ChoiceCard, RevealSwitch } from './choices.tsx'
import { ROLES, type Role } from './rights.tsx'
import { SubAccountChoice } from './sub-account-choice.tsx'

const LABELS = { name: 'Name', subAccounts: 'Sub-accounts', expiresAt: 'The time of expiry' }

interface Fields extends Expiry {
  readonly name: string
  readonly role: Role
  /** Undefined until it is switched: then it follows from the role. */
  readonly reveal: boolean | undefined
  /** Null for all. */
  readonly subAccounts: readonly string[] | null
}

export function CreateKeyDialog({ close }: { close: () => void }) {
  const own = usePermissions()
  const form = useForm<Fields>({
    // The least that is of use to a person.
    initialValues: {
      name: '',
      role: 'viewer',
      reveal: undefined,
      subAccounts: own.seesAll ? null : [],
      expiresAt: '',
      at: '',
    },
  })
  const fields = form.values
  const create = useChange({
    kind: 'key',
    name: fields.name,
    send: (client, body: NewKey) => client.createKey({ body }),
    unseen: ({ name }) => ({
      text: <Outcome name={name} what="is made, but was not shown, and nobody can be shown it again: revoke it" />,
      tone: 'bad',
    }),
  })
  const isPast = isPastTime(fields, useNow())
  if (create.data) return <KeyReady name={create.data.name} value={create.data.key} close={close} />
  const run = () => {
    if (isPast) return
    const onError = (error: unknown) => form.setErrors(fieldErrors(error, LABELS))
    create.mutate(keyOf(fields, own, Date.now()), { onError })
  }
  const isAboutFields = Object.keys(fieldErrors(create.error, LABELS)).length > 0
  return (
    <form onSubmit={form.onSubmit(run)}>
      <Stack gap="md">
        <TextInput
          label={LABELS.name}
          description="Who or what will use it"
          required
          data-autofocus
          {...form.getInputProps('name')}
        />
        <Fieldset variant="unstyled" p={0} legend="What may it do?">
          <Stack gap={8}>
            {Object.entries(ROLES).map(([role, { label, may }]) => (
              <ChoiceCard
                key={role}
                label={label}
                description={may}
                name="role"
                {...form.getInputProps('role', { type: 'radio', value: role })}
              />
            ))}
          </Stack>
        </Fieldset>
        <RevealSwitch
          isOn={revealOf(fields, own)}
          refusal={revealRefusal(fields.role, own)}
          onChange={(reveal) => form.setFieldValue('reveal', reveal)}
        />
        <SubAccountChoice
          ids={fields.subAccounts}
          canChooseAll={own.seesAll}
          onChange={(ids) => form.setFieldValue('subAccounts', ids)}
          error={form.errors.subAccounts}
        />
        <ExpiryInput
          choice={form.getInputProps('expiresAt')}
          time={form.getInputProps('at')}
          past={isPast && 'This time is past: the key would never be accepted'}
        />
        <ChangeButtons
          change={create}
          run={run}
          submits
          isAboutFields={isAboutFields}
          disabled={fields.subAccounts?.length === 0 || isPast}
          hint="If the list has it already, revoke it: a key is shown once, and this one was lost with the answer."
        >
          Create key
        </ChangeButtons>
      </Stack>
      <BeforeLeaving loss={form.isDirty() && !create.isPending ? 'typed' : undefined} />
    </form>
  )
}

/** Why this key cannot be let see credentials. */
function revealRefusal(role: Role, own: Permissions): string | undefined {
  if (role === 'verifier') return 'A verifier reads no tokens.'
  return own.reveal ? undefined : 'You are not shown any, and cannot let others see them.'
}

/** As the service has it where nothing is said: only owners see credentials. */
function revealOf({ role, reveal = role === 'owner' }: Fields, own: Permissions): boolean {
  return reveal && revealRefusal(role, own) === undefined
}

function keyOf(fields: Fields, own: Permissions, now: number): NewKey {
  const { name, role, subAccounts } = fields
  return { name, role, reveal: revealOf(fields, own), subAccounts, expiresAt: timeOf(fields, now) }
}

function KeyReady({ name, value, close }: { name: string; value: string; close: () => void }) {
  useDialogTitle('Account key created')
  return (
    <Stack gap="md">
      <Text size="sm" role="status">
        <Outcome name={name} what="is ready." />
      </Text>
      <NewCredential value={value} what="key" of={name} />
      <Text size="sm" c="dimmed">
        Copy it now: once this is closed, nobody can be shown it again. It is hidden after a minute.
      </Text>
      <DoneButton close={close} />
    </Stack>
  )
}
