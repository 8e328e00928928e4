// The question before a bulk operation is undone, in the list of operations and on the page of one.
import { Stack, Text } from '@mantine/core'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons, Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { useToast } from '../ui/toasts.tsx'
import { type BulkAction, nameOf } from './operation-words.ts'

interface UndoOperationProps {
  readonly operation: BulkOperation | undefined
  readonly close: () => void
}

export function UndoOperation({ operation, close }: UndoOperationProps) {
  return (
    <Dialog shown={operation} titleOf={(shown) => `Undo “${nameOf(shown)}”?`} close={close}>
      {(shown) => <Question operation={shown} close={close} />}
    </Dialog>
  )
}

/** What is deleted stays so, and nobody is asked. */
const RESTORED: Readonly<Record<Exclude<BulkAction, 'delete'>, string>> = {
  disable: 'will authenticate again, unless expired or of a suspended sub-account',
  enable: 'will be disabled again',
  expire: 'will get the former expiry again',
}

function Question({ operation, close }: { operation: BulkOperation; close: () => void }) {
  const { _id: id, status, action, done } = operation
  const toast = useToast()
  const undo = useChange({
    kind: 'bulk',
    name: nameOf(operation),
    send: (client) => client.undoBulk({ id }),
    onDone(begun) {
      toast({ text: `“${nameOf(begun)}” is being undone` })
      close()
    },
  })
  return (
    <Stack gap="md">
      <Text size="sm">
        {status === 'running' && 'It stops where it is. '}
        {action !== 'delete' && `${plural(done, 'token')} ${RESTORED[action]}. `}
        What somebody has changed since stays as it is. An operation can be undone once.
      </Text>
      <ChangeButtons change={undo} run={() => undo.mutate()}>
        Undo it
      </ChangeButtons>
    </Stack>
  )
}
