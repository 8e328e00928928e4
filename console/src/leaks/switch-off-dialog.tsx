// The one question before all tokens of a text are switched off.
import { useQuery } from '@tanstack/react-query'
import type { HistoryEntry, LatchkeyClient, LeakedToken, Token } from '../../../client/latchkey-client.ts'
import { CHANGED_SINCE } from '../api/errors.ts'
import { inTurns } from '../api/in-turns.ts'
import { etagOf, MASKED, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { Confirmation } from '../ui/confirm-dialog.tsx'
import { plural } from '../ui/format.ts'
import { searchText } from './search-text.ts'

export const isOn = ({ status }: LeakedToken): boolean => status === 'active'

/** A token that was switched off. */
export interface Ended extends Pick<Token, '_id' | 'name' | 'status'> {
  /** Its version since then, for an undo, or why there is no undo: nothing that somebody else has changed is overwritten. */
  readonly since: { readonly ifMatch: string } | { readonly problem: string }
}

interface SwitchOffDialogProps {
  readonly text: Blob
  readonly tokens: readonly LeakedToken[]
  readonly onDone: (ended: readonly Ended[]) => void
}

export function SwitchOffDialog({ text, tokens, onDone }: SwitchOffDialogProps) {
  const ownId = useQuery(queries.whoami(useClient())).data?.caller._id
  const wasOn = new Set(tokens.map(({ _id }) => _id))
  const end = useChange({
    kind: 'token',
    name: 'the tokens of the text',
    async send(client): Promise<readonly Ended[]> {
      const { found } = await searchText(client, { text, dryRun: false, onProgress: () => {} })
      const off = found.filter((token) => !isOn(token) && wasOn.has(token._id))
      return inTurns(off, async ({ _id, name, status }) => {
        return { _id, name, status, since: await versionSince(client, _id, ownId) }
      })
    },
    onDone,
    unseen: ({ length }) => ({ text: `${plural(length, 'token')} switched off` }),
  })
  return (
    <Confirmation
      text={
        'Every request with one of their credentials is refused from the moment the service confirms it: also with a newer credential ' +
        'of the same token, which does not stand in the text. The tokens are kept, and can be rotated and enabled again.'
      }
      verb={`Switch off ${plural(tokens.length, 'token')}`}
      change={end}
      run={() => end.mutate()}
    />
  )
}

/** Entries of the history that change nothing. */
const CHANGE_NOTHING: readonly HistoryEntry['action'][] = ['token.reveal', 'token.expiring']

/**
 * The token may have been changed before it is read here. Its history, which is read after it, says so: the last change must be
 * the switch-off by the caller.
 */
async function versionSince(client: LatchkeyClient, id: string, ownId: string | undefined): Promise<Ended['since']> {
  try {
    const ifMatch = etagOf(await client.getToken({ id, include: 'details', ...MASKED }))
    const { items } = await client.listTokenHistory({ id })
    const last = items.find(({ action }) => !CHANGE_NOTHING.includes(action))
    const isOwn = last?.to.reason === 'leaked' && last.by === ownId
    return ifMatch !== undefined && isOwn ? { ifMatch } : { problem: CHANGED_SINCE }
  } catch {
    // What is off stays reported as off.
    return { problem: 'it could not be read after it was switched off' }
  }
}
