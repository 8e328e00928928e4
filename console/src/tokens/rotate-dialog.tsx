// Gives a token a new credential. Whether the present one has leaked decides how long that goes on working.
import { NativeSelect, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.tsx'
import { DialogButtons } from '../dialog.tsx'
import { ErrorAlert } from '../states.tsx'
import { CredentialReady } from './credential-ready.tsx'
import { AboutToken } from './status-dialog.tsx'

const HOUR_SECONDS = 60 * 60
const DAY_SECONDS = 24 * HOUR_SECONDS

const OVERLAPS = [
  { value: '0', label: 'Stop it at once' },
  { value: `${HOUR_SECONDS}`, label: 'For 1 more hour' },
  { value: `${DAY_SECONDS}`, label: 'For 1 more day' },
  { value: `${7 * DAY_SECONDS}`, label: 'For 7 more days' },
  { value: `${30 * DAY_SECONDS}`, label: 'For 30 more days' },
]

export function RotateDialog({ token, close }: { token: Token; close: () => void }) {
  const [leaked, setLeaked] = useState<boolean>()
  const [chosen, setChosen] = useState(`${DAY_SECONDS}`)
  const overlap = leaked ? '0' : chosen
  const rotate = useChange('token', token.name, (client) =>
    client.rotateToken({ id: token._id, body: { overlapSeconds: Number(overlap) } }),
  )
  if (rotate.data) {
    const label = OVERLAPS.find(({ value }) => value === overlap)?.label.toLowerCase()
    const former = overlap === '0' ? 'The former one no longer works.' : `The former one works ${label}.`
    return <CredentialReady token={rotate.data} close={close} outcome={`has a new credential. ${former}`} />
  }
  return (
    <Stack gap="md">
      <Text size="sm">The token keeps its id, name and history, and gets a new credential.</Text>
      <AboutToken token={token} />
      <LeakQuestion leaked={leaked} onAnswer={setLeaked} />
      {leaked === false && (
        <NativeSelect
          label="The present credential"
          description="An overlap lets you replace it wherever it is in use, without an interruption"
          value={chosen}
          data={OVERLAPS}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
      )}
      {leaked === true && (
        <div className="warning" role="status">
          The present credential dies the moment the service confirms. Whatever uses it fails until it has the new one.
        </div>
      )}
      {rotate.error !== null && (
        <ErrorAlert error={rotate.error} asked="change" retry={() => rotate.mutate()} busy={rotate.isPending} />
      )}
      <DialogButtons>
        <BusyButton
          color={leaked ? 'red' : 'indigo'}
          busy={rotate.isPending}
          disabled={leaked === undefined}
          onClick={() => rotate.mutate()}
        >
          Rotate credential
        </BusyButton>
      </DialogButtons>
    </Stack>
  )
}

interface LeakQuestionProps {
  readonly leaked: boolean | undefined
  readonly onAnswer: (leaked: boolean) => void
}

/** Without an answer in advance: a day's overlap is harmless in one case and the whole harm in the other. */
function LeakQuestion({ leaked, onAnswer }: LeakQuestionProps) {
  const answers = [
    { value: false, label: 'No, this is routine' },
    { value: true, label: 'Yes, or it may have' },
  ]
  return (
    <fieldset className="choice">
      <legend>Has the present credential leaked?</legend>
      {answers.map(({ value, label }, index) => (
        <label key={label} className="check-box">
          <input
            type="radio"
            name="leaked"
            checked={leaked === value}
            onChange={() => onAnswer(value)}
            data-autofocus={index === 0 || undefined}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}
