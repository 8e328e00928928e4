// Enables again what was switched off together, but nothing that somebody else has changed since.
import { Text } from '@mantine/core'
import { shortReason } from '../api/errors.ts'
import { inTurns } from '../api/in-turns.ts'
import { MASKED } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import type { Ended } from './switch-off-dialog.tsx'

export function UndoButton({ ended }: { ended: readonly Ended[] }) {
  const undo = useChange({
    kind: 'token',
    name: 'the tokens of the text',
    send: (client) =>
      inTurns(ended, async (token): Promise<Ended & { problem?: string }> => {
        const { _id: id, since } = token
        if ('problem' in since) return { ...token, problem: since.problem }
        try {
          const body = { status: 'active' } as const
          const { status } = await client.patchToken({ id, 'if-match': since.ifMatch, body, ...MASKED })
          return { ...token, status }
        } catch (error) {
          return { ...token, problem: shortReason(error) }
        }
      }),
  })
  if (ended.length === 0) return null
  if (undo.data === undefined) {
    return (
      <BusyButton ref={keepFocusOnRemoval} variant="default" busy={undo.isPending} onClick={() => undo.mutate()}>
        Enable {ended.length === 1 ? 'it' : `all ${ended.length}`} again
      </BusyButton>
    )
  }
  const failed = undo.data.filter(({ problem }) => problem !== undefined)
  return (
    <Text size="sm" role="status" w="100%">
      {plural(ended.length - failed.length, 'token')} enabled again.{' '}
      {failed.map(({ _id, name, problem }) => (
        <span key={_id}>
          <Name>{name}</Name> is not: {problem}.{' '}
        </span>
      ))}
    </Text>
  )
}
