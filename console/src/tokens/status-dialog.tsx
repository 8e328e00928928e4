// Disable or enable one token: what it means, what hangs on it, and an undo afterwards.
import { Stack, Text } from '@mantine/core'
import type { Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.tsx'
import { DialogButtons } from '../dialog.tsx'
import { Facts, Name, Outcome, useNow, When } from '../parts.tsx'
import { useCallWithETag } from '../session.tsx'
import { ErrorAlert } from '../states.tsx'
import { useToast } from '../toasts.tsx'
import { masked } from '../words.ts'
import { isUnreadable } from './cells.tsx'

const RECENT_MS = 7 * 24 * 60 * 60 * 1000

export type Status = Token['status']
export const otherStatus = ({ status }: Pick<Token, 'status'>): Status => (status === 'active' ? 'inactive' : 'active')

interface StatusChange {
  readonly status: Status
  /** The ETag of the answer that is undone: what somebody else has changed since is not overwritten. */
  readonly undoes?: string
}

/** Sets the status, reports it, and offers to undo it. */
function useSetStatus(token: Token) {
  const toast = useToast()
  const callWithETag = useCallWithETag()
  const change = useChange(
    'token',
    token.name,
    (_, { status, undoes }: StatusChange) =>
      callWithETag((client) => client.updateToken({ id: token._id, 'if-match': undoes, body: { status } })),
    (confirmed, { undoes }) => {
      const { name, status, etag } = confirmed
      const text = <Outcome name={name} what={status === 'active' ? 'is enabled' : 'is disabled'} />
      if (undoes !== undefined || etag === undefined) toast({ text })
      else toast({ text, undo: () => change.mutate({ status: otherStatus(confirmed), undoes: etag }) })
    },
    ({ undoes }) => undoes !== undefined,
  )
  return change
}

export function StatusDialog({ token, close }: { token: Token; close: () => void }) {
  const { mutate, error, isPending } = useSetStatus(token)
  const status = otherStatus(token)
  const confirm = () => mutate({ status }, { onSuccess: close })
  return (
    <Stack gap="md">
      {status === 'inactive' ? <CutOff token={token} /> : <Text size="sm">{enabledMeans(token)}</Text>}
      <AboutToken token={token} />
      {error !== null && <ErrorAlert error={error} asked="change" retry={confirm} busy={isPending} />}
      <DialogButtons>
        <BusyButton color={status === 'inactive' ? 'red' : 'indigo'} busy={isPending} onClick={confirm} data-autofocus>
          {status === 'inactive' ? 'Disable token' : 'Enable token'}
        </BusyButton>
      </DialogButtons>
    </Stack>
  )
}

function CutOff({ token }: { token: Token }) {
  const now = useNow()
  const lastUsedAt = token.details?.lastUsedAt ?? null
  const recent = lastUsedAt !== null && now - Date.parse(lastUsedAt) < RECENT_MS
  return (
    <>
      <Text size="sm">
        From the moment the service confirms, every request with this credential is refused. The token is kept and can
        be enabled again.
      </Text>
      {recent && lastUsedAt !== null && (
        <div className="warning">
          It was used <When at={lastUsedAt} />: something that depends on it will stop working.
        </div>
      )}
    </>
  )
}

/** Enabling changes the token's own status; expiry and suspension still say no. */
function enabledMeans(token: Token): string {
  const expiresAt = token.details?.expiresAt ?? null
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
    return 'It has expired, and will not authenticate even when enabled.'
  }
  return 'Its credential authenticates again from the moment the service confirms, unless its sub-account is suspended.'
}

export function AboutToken({ token }: { token: Token }) {
  return (
    <Facts
      rows={[
        ['Token', <Name key="name">{token.name}</Name>],
        [
          'Sub-account',
          <span key="owner">
            <Name>{token.subAccount.name}</Name>, <Name>{token.subAccount.companyName}</Name>
          </span>,
        ],
        ['Last used', <When key="used" at={token.details?.lastUsedAt ?? null} none="Never" />],
        ['Credential', isUnreadable(token) ? 'Cannot be read' : <code key="credential">{masked(token.token)}</code>],
      ]}
    />
  )
}
