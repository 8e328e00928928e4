// Gives a token a new credential. Whether the present one has leaked decides how long that goes on working.
import { Fieldset, Group, NativeSelect, Stack, Text } from '@mantine/core'
import { type UseFormReturnType, useForm } from '@mantine/form'
import type { Token } from '../../../client/latchkey-client.ts'
import { isConflict } from '../api/errors.ts'
import { etagOf } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { Warning } from '../ui/warning.tsx'
import { AboutToken } from './about-token.tsx'
import { ChangedMeanwhile, useTokenNow } from './changed-meanwhile.tsx'
import { CredentialReady, unseenCredential } from './credential-ready.tsx'

const HOUR_SECONDS = 60 * 60
const DAY_SECONDS = 24 * HOUR_SECONDS

const OVERLAPS = [
  { value: '0', label: 'Stop it at once' },
  { value: `${HOUR_SECONDS}`, label: 'For 1 more hour' },
  { value: `${DAY_SECONDS}`, label: 'For 1 more day' },
  { value: `${7 * DAY_SECONDS}`, label: 'For 7 more days' },
  { value: `${30 * DAY_SECONDS}`, label: 'For 30 more days' },
]

interface Fields {
  readonly leaked: '' | 'no' | 'yes'
  readonly overlap: string
}

export function RotateDialog({ token: opened, close }: { token: Token; close: () => void }) {
  // No answer in advance: a day's overlap is harmless after a routine rotation, and all the harm after a leak.
  const form = useForm<Fields>({ initialValues: { leaked: '', overlap: `${DAY_SECONDS}` } })
  const { leaked } = form.values
  const overlap = leaked === 'yes' ? '0' : form.values.overlap
  const rotate = useChange({
    kind: 'token',
    name: opened.name,
    send: (client, { token, overlap }: { token: Token; overlap: string }) =>
      client.rotateToken({ id: token._id, 'if-match': etagOf(token), body: { overlapSeconds: Number(overlap) } }),
    unseen: unseenCredential,
  })
  const token = useTokenNow(opened, rotate.error)
  const run = () => rotate.mutate({ token, overlap })
  if (rotate.data) {
    // What was sent: the form may have been changed since.
    const sent = rotate.variables.overlap
    const label = OVERLAPS.find(({ value }) => value === sent)?.label.toLowerCase()
    const former = sent === '0' ? 'The former one no longer works.' : `The former one works ${label}.`
    const outcome = `has a new credential. ${former}`
    return <CredentialReady token={rotate.data} close={close} title="Credential rotated" outcome={outcome} />
  }
  return (
    <form onSubmit={form.onSubmit(run)}>
      <Stack gap="md">
        <Text size="sm">The token keeps its id, name and history, and gets a new credential.</Text>
        <AboutToken token={token} />
        <Fieldset variant="unstyled" p={0} legend="Has the present credential leaked?">
          <Choice value="no" label="No, this is routine" form={form} autoFocus />
          <Choice value="yes" label="Yes, or it may have" form={form} />
        </Fieldset>
        {leaked === 'no' && (
          <NativeSelect
            label="The present credential"
            description="An overlap lets you replace it wherever it is in use, without an interruption"
            data={OVERLAPS}
            {...form.getInputProps('overlap')}
          />
        )}
        {leaked === 'yes' && (
          <Warning role="status">
            The present credential dies the moment the service confirms. Whatever uses it fails until it has the new
            one.
          </Warning>
        )}
        {isConflict(rotate.error) && <ChangedMeanwhile opened={opened} now={token} />}
        <ChangeButtons
          change={rotate}
          run={run}
          submits
          isAboutFields={isConflict(rotate.error)}
          color={leaked === 'yes' ? 'red' : 'indigo'}
          disabled={leaked === ''}
        >
          Rotate credential
        </ChangeButtons>
      </Stack>
    </form>
  )
}

interface ChoiceProps {
  readonly value: string
  readonly label: string
  readonly form: UseFormReturnType<Fields>
  readonly autoFocus?: boolean
}

function Choice({ value, label, form, autoFocus }: ChoiceProps) {
  return (
    <Group component="label" gap={10} mt={10} fz="sm">
      <input
        type="radio"
        name="leaked"
        value={value}
        data-autofocus={autoFocus}
        {...form.getInputProps('leaked', { type: 'radio', value })}
      />
      {label}
    </Group>
  )
}
