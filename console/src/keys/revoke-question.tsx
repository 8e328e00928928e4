// The question before an account key is revoked.
import type { Key } from '../../../client/latchkey-client.ts'
import type { Question } from '../ui/confirm-dialog.tsx'
import { Name, Outcome } from '../ui/name.tsx'
import { RelativeTime } from '../ui/time.tsx'
import { roleOf } from './rights.tsx'

export const revokeQuestion = ({ _id, name, role, lastUsedAt }: Key, ownId: string | undefined): Question => ({
  title: 'Revoke this account key?',
  kind: 'key',
  name,
  text:
    'From the moment the service confirms, every request with this key is refused. This cannot be undone: what uses the key needs ' +
    'another one.',
  warning: _id === ownId && 'You are signed in with this key, and will be signed out.',
  facts: [
    ['Account key', <Name key="name">{name}</Name>],
    ['Role', roleOf(role).label],
    ['Last used', <RelativeTime key="used" at={lastUsedAt} none="Never" />],
  ],
  verb: 'Revoke key',
  send: (client) => client.revokeKey({ id: _id }),
  done: <Outcome name={name} what="is revoked" />,
})
