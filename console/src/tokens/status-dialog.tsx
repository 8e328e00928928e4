// Disables or enables one token, after saying what that means.
import { Stack, Text } from '@mantine/core'
import type { Token } from '../../../client/latchkey-client.ts'
import { MASKED } from '../api/queries.ts'
import { useToggle } from '../api/use-toggle.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { RelativeTime, useNow } from '../ui/time.tsx'
import { Warning } from '../ui/warning.tsx'
import { AboutToken } from './about-token.tsx'

const RECENT_MS = 7 * 24 * 60 * 60 * 1000

export type OwnStatus = Token['status']
const oppositeStatus = (status: OwnStatus): OwnStatus => (status === 'active' ? 'inactive' : 'active')

export function StatusDialog({ token, close }: { token: Token; close: () => void }) {
  const change = useToggle({
    kind: 'token',
    item: token,
    read: (client) => client.getToken({ id: token._id, include: 'details', ...MASKED }),
    send: (client, status, ifMatch) =>
      client.patchToken({ id: token._id, 'if-match': ifMatch, body: { status }, ...MASKED }),
    opposite: oppositeStatus,
    outcome: (status) => (status === 'active' ? 'is enabled' : 'is disabled'),
  })
  const isDisabling = token.status === 'active'
  return (
    <Stack gap="md">
      {isDisabling ? <WhatStops token={token} /> : <Text size="sm">{whatEnablingDoes(token)}</Text>}
      <AboutToken token={token} />
      <ChangeButtons change={change} run={() => change.toggle(close)} color={isDisabling ? 'red' : 'indigo'}>
        {isDisabling ? 'Disable token' : 'Enable token'}
      </ChangeButtons>
    </Stack>
  )
}

function WhatStops({ token }: { token: Token }) {
  const now = useNow()
  const lastUsedAt = token.details?.lastUsedAt ?? null
  const isRecent = lastUsedAt !== null && now - Date.parse(lastUsedAt) < RECENT_MS
  return (
    <>
      <Text size="sm">
        From the moment the service confirms, every request with this credential is refused. The token is kept and can
        be enabled again.
      </Text>
      {isRecent && (
        <Warning>
          It was used <RelativeTime at={lastUsedAt} />: something that depends on it will stop working.
        </Warning>
      )}
    </>
  )
}

/** Enabling changes the token's own status; expiry, and what holds for its whole sub-account, still refuse it. */
function whatEnablingDoes(token: Token): string {
  const expiresAt = token.details?.expiresAt ?? null
  if (expiresAt !== null && Date.parse(expiresAt) <= Date.now()) {
    return 'It has expired, and will not authenticate even when enabled.'
  }
  return (
    'Its credential authenticates again from the moment the service confirms, unless its sub-account is suspended, or ' +
    'limits the lifetime of its tokens and this one is past it.'
  )
}
