// The one question before all tokens of a text are switched off.
import { Stack, Text } from '@mantine/core'
import type { LeakedToken, Token } from '../../../client/latchkey-client.ts'
import { inTurns } from '../api/in-turns.ts'
import { etagOf, MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { searchText } from './search-text.ts'

export const isOn = ({ status }: LeakedToken): boolean => status === 'active'

/** A token that was switched off, with its version since then: an undo changes nothing that somebody has changed later. */
export interface Ended extends Pick<Token, '_id' | 'name' | 'status'> {
  readonly ifMatch: string | undefined
}

interface SwitchOffDialogProps {
  readonly text: Blob
  readonly tokens: readonly LeakedToken[]
  readonly onDone: (ended: readonly Ended[]) => void
}

export function SwitchOffDialog({ text, tokens, onDone }: SwitchOffDialogProps) {
  const wasOn = new Set(tokens.map(({ _id }) => _id))
  const end = useChange({
    kind: 'token',
    name: 'the tokens of the text',
    async send(client): Promise<readonly Ended[]> {
      const { found } = await searchText(client, { text, dryRun: false, onProgress: () => {} })
      const off = found.filter((token) => !isOn(token) && wasOn.has(token._id))
      return inTurns(off, async ({ _id, name, status }) => {
        // Without it there is no undo; what is off stays reported as off.
        const now = await client.getToken({ id: _id, include: 'details', ...MASKED }).catch(() => undefined)
        return { _id, name, status, ifMatch: now && etagOf(now) }
      })
    },
    onDone,
    unseen: ({ length }) => ({ text: `${plural(length, 'token')} switched off` }),
  })
  return (
    <Stack gap="md">
      <Text size="sm">
        Every request with one of their credentials is refused from the moment the service confirms it: also with a
        newer credential of the same token, which does not stand in the text. The tokens are kept, and can be rotated
        and enabled again.
      </Text>
      <ChangeButtons change={end} run={() => end.mutate()} color="red">
        Switch off {plural(tokens.length, 'token')}
      </ChangeButtons>
    </Stack>
  )
}
