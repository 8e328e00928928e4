// Several tokens at once: one request each, a bar that counts what the service has confirmed, and a list of what failed.
import { Button, Group, Progress, Stack, Text } from '@mantine/core'
import { type ReactNode, useState } from 'react'
import type { LatchkeyClient, Token } from '../../../client/latchkey-client.ts'
import { shortReason } from '../api/errors.ts'
import { inTurns } from '../api/in-turns.ts'
import { MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { DialogButtons, useDialogTitle } from '../ui/dialog.tsx'
import { number, plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'
import type { OwnStatus } from './status-dialog.tsx'

const VERBS = { active: 'Enabling', inactive: 'Disabling' } as const
const DONE = { active: 'enabled', inactive: 'disabled' } as const

interface Failed {
  readonly token: Token
  readonly reason: string
}

interface BulkState {
  readonly of: number
  readonly confirmed: number
  readonly failed: readonly Failed[]
}

interface BulkDialogProps {
  readonly tokens: readonly Token[]
  readonly status: OwnStatus
  readonly close: () => void
  /** Those that failed stay selected. */
  readonly onDone: (failed: readonly Token[]) => void
}

export function BulkDialog({ tokens, status, close, onDone }: BulkDialogProps) {
  const { progress, run, isPending, submittedAt } = useBulk(status, onDone)
  const verb = status === 'active' ? 'Enable' : 'Disable'
  useDialogTitle(
    progress && (isPending ? `${VERBS[status]} ${plural(progress.of, 'token')}` : doneTitle(progress, status)),
  )
  if (progress === undefined) {
    return (
      <Stack gap="md">
        <Text size="sm">
          {status === 'inactive'
            ? 'Every request with one of these credentials is refused from the moment the service confirms it.'
            : 'These credentials authenticate again, unless expired or their sub-account is suspended.'}
        </Text>
        <ScrollingList label="Tokens">
          {tokens.map((token) => (
            <Group component="li" key={token._id} justify="space-between" gap="4px 12px">
              <span>
                <Name>{token.name}</Name>
                <span className={text.dim}>
                  {' · '}
                  <Name>{token.subAccount.name}</Name>
                </span>
              </span>
              <span className={text.dim}>
                used <RelativeTime at={token.details?.lastUsedAt ?? null} none="never" />
              </span>
            </Group>
          ))}
        </ScrollingList>
        <DialogButtons>
          <Button color={status === 'inactive' ? 'red' : 'indigo'} onClick={() => run(tokens)} data-autofocus>
            {verb} {plural(tokens.length, 'token')}
          </Button>
        </DialogButtons>
      </Stack>
    )
  }
  // Mounted again for each run, so that its button takes the focus: the button that started the run is gone.
  return (
    <BulkProgress key={submittedAt} progress={progress} busy={isPending} status={status} close={close} retry={run} />
  )
}

const doneTitle = ({ of, confirmed }: BulkState, status: OwnStatus): string =>
  confirmed === of
    ? `${plural(of, 'token')} ${DONE[status]}`
    : `${number(confirmed)} of ${plural(of, 'token')} ${DONE[status]}`

/** It must be within reach of the keyboard, since it scrolls. */
function ScrollingList({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Stack
      component="ul"
      gap={6}
      px={14}
      py={10}
      mah={260}
      className={surface.inset}
      style={{ overflow: 'auto' }}
      aria-label={label}
      tabIndex={0}
    >
      {children}
    </Stack>
  )
}

interface BulkProgressProps {
  readonly progress: BulkState
  readonly busy: boolean
  readonly status: OwnStatus
  readonly close: () => void
  readonly retry: (tokens: readonly Token[]) => void
}

function BulkProgress({ progress: { of, confirmed, failed }, busy, status, close, retry }: BulkProgressProps) {
  const done = DONE[status]
  return (
    <Stack gap="md">
      <Progress.Root size="lg">
        <Progress.Section
          value={(confirmed / of) * 100}
          color="teal"
          aria-label={`${confirmed} of ${of} ${done}`}
          aria-valuemax={100}
        />
        {failed.length > 0 && (
          <Progress.Section value={(failed.length / of) * 100} color="red" aria-label={`${failed.length} failed`} />
        )}
      </Progress.Root>
      <Text size="sm" role="status">
        {confirmed} of {plural(of, 'token')} {done}
        {failed.length > 0 && `, ${failed.length} failed`}
        {busy && ' …'}
      </Text>
      {failed.length > 0 && (
        <ScrollingList label="Failed">
          {failed.map(({ token, reason }) => (
            <Group component="li" key={token._id} justify="space-between" gap="4px 12px">
              <Name>{token.name}</Name>
              <Text span inherit c="var(--mantine-color-error)">
                {reason}
              </Text>
            </Group>
          ))}
        </ScrollingList>
      )}
      <Group justify="flex-end" gap="sm">
        {!busy && failed.length > 0 && (
          <Button variant="default" onClick={() => retry(failed.map(({ token }) => token))}>
            Try again with {failed.length}
          </Button>
        )}
        <BusyButton onClick={close} busy={busy} autoFocus>
          Close
        </BusyButton>
      </Group>
    </Stack>
  )
}

function useBulk(status: OwnStatus, onDone: (failed: readonly Token[]) => void) {
  const [progress, setProgress] = useState<BulkState>()
  const { mutate, isPending, submittedAt } = useChange({
    kind: 'token',
    name: 'the selected tokens',
    send: async (client, tokens: readonly Token[]) => {
      let state: BulkState = { of: tokens.length, confirmed: 0, failed: [] }
      const report = (next: BulkState) => {
        state = next
        setProgress(next)
      }
      report(state)
      const confirmed: Token[] = []
      await inTurns(tokens, async (token) => {
        const answer = await setOne(client, token, status)
        if (typeof answer === 'string') {
          report({ ...state, failed: [...state.failed, { token, reason: answer }] })
        } else {
          confirmed.push(answer)
          report({ ...state, confirmed: confirmed.length })
        }
      })
      return confirmed
    },
    onDone: (confirmed, tokens) => onDone(tokens.filter(({ _id }) => !confirmed.some((each) => each._id === _id))),
    unseen: ({ length: confirmed }, { length: of }) => ({
      text: `${confirmed} of ${plural(of, 'token')} ${DONE[status]}`,
      tone: confirmed === of ? 'good' : 'bad',
    }),
  })
  return { progress, run: mutate, isPending, submittedAt }
}

/** The token as the service has confirmed it, or the reason why it has not. */
async function setOne(client: LatchkeyClient, token: Token, status: OwnStatus): Promise<Token | string> {
  try {
    const confirmed = await client.patchToken({ id: token._id, body: { status }, ...MASKED })
    return confirmed.status === status ? confirmed : `The service left it ${confirmed.status}`
  } catch (error) {
    return shortReason(error)
  }
}
