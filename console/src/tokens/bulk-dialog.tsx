// What is selected, or everything that a list filter matches, changed by one operation of the service: first the exact number and some of
// them, then what is done and why, then its progress, and undo. It goes on without this page.
import { NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { BulkFilter, BulkOperation, BulkPreview } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { OperationProgress, useOperation } from '../operations/operation-progress.tsx'
import { BULK_ACTIONS, type BulkAction, isBulkAction, nameOf } from '../operations/operation-words.ts'
import { BusyButton } from '../ui/busy-button.tsx'
import { ChangeButtons, DialogButtons, useDialogTitle } from '../ui/dialog.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { number, plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'

export interface Bulk {
  readonly filter: BulkFilter
  /** What is proposed. */
  readonly action: BulkAction
}

export const bulkTitle = ({ filter: { ids }, action }: Bulk): string =>
  ids === undefined ? 'Change all that match' : `${BULK_ACTIONS[action].verb} ${plural(ids.length, 'token')}?`

export function BulkDialog({ filter, action, onBegun }: Bulk & { readonly onBegun: () => void }) {
  const [operation, setOperation] = useState<BulkOperation>()
  const preview = useQuery({ ...queries.bulkPreview(useClient(), filter), enabled: operation === undefined })
  if (operation !== undefined) return <Progressing begun={operation} />
  return (
    <QueryResult query={preview} what="what matches" rows={4}>
      {(found) => (
        <Question
          filter={filter}
          proposed={action}
          found={found}
          onBegun={(begun) => {
            setOperation(begun)
            onBegun()
          }}
        />
      )}
    </QueryResult>
  )
}

interface QuestionProps {
  readonly filter: BulkFilter
  readonly proposed: BulkAction
  readonly found: BulkPreview
  readonly onBegun: (operation: BulkOperation) => void
}

function Question({ filter, proposed, found: { total, sample }, onBegun }: QuestionProps) {
  const [action, setAction] = useState(proposed)
  const [reason, setReason] = useState('')
  const begin = useChange({
    kind: 'token',
    name: 'these tokens',
    async send(client): Promise<BulkOperation> {
      const body = { action, filter, expectedTotal: total, reason: reason.trim() || undefined }
      return (await client.changeTokens({ body })) as BulkOperation
    },
    onDone: onBegun,
    unseen: (operation) => ({ text: <Begun operation={operation} /> }),
  })
  const { verb, means } = BULK_ACTIONS[action]
  const tokens = plural(total, 'token')
  useDialogTitle(filter.ids === undefined ? `${verb} all ${tokens} that match?` : `${verb} ${tokens}?`)
  return (
    <Stack gap="md">
      <Stack component="ul" gap={6} px={14} py={10} className={surface.inset} aria-label="Some of them">
        {sample.map(({ _id, name, subAccount }) => (
          <li key={_id}>
            <Name>{name}</Name>
            <span className={text.dim}>
              {' · '}
              <Name>{subAccount.name}</Name>
            </span>
          </li>
        ))}
        {total > sample.length && <li className={text.dim}>and {number(total - sample.length)} more</li>}
      </Stack>
      <NativeSelect
        label="What is done"
        description={means}
        value={action}
        data={Object.entries(BULK_ACTIONS).map(([value, each]) => ({ value, label: each.verb }))}
        onChange={({ currentTarget: { value } }) => isBulkAction(value) && setAction(value)}
      />
      <TextInput
        label="Reason"
        description="In the history of each token"
        maxLength={200}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
      />
      <ChangeButtons
        change={begin}
        run={() => begin.mutate()}
        color={action === 'enable' ? 'indigo' : 'red'}
        disabled={total === 0}
      >
        {`${verb} ${tokens}`}
      </ChangeButtons>
    </Stack>
  )
}

/** For a message: the dialog is gone. */
function Begun({ operation }: { operation: BulkOperation }) {
  return (
    <>
      <Link to="/history/operations/$operationId" params={{ operationId: operation._id }} className={text.link}>
        {nameOf(operation)}
      </Link>
      : begun
    </>
  )
}

function Progressing({ begun }: { begun: BulkOperation }) {
  const { data = begun, error, refetch, isFetching } = useOperation(begun._id, begun)
  const { _id: id, status, action } = data
  const back = useChange({ kind: 'bulk', name: nameOf(begun), send: (client) => client.undoBulk({ id }) })
  useDialogTitle(titleOf(data))
  return (
    <Stack gap="md">
      <OperationProgress operation={data} hint="It goes on if you close this." />
      {error !== null && <ErrorAlert error={error} kind="read" retry={() => void refetch()} busy={isFetching} />}
      {back.error !== null && (
        <ErrorAlert error={back.error} kind="change" retry={() => back.mutate()} busy={back.isPending} />
      )}
      <Text size="sm">
        <Link to="/history/operations/$operationId" params={{ operationId: id }} className={text.link}>
          Page of this operation
        </Link>
      </Text>
      <DialogButtons cancel="Close">
        {status === 'done' && action !== 'delete' && (
          <BusyButton variant="default" busy={back.isPending} onClick={() => back.mutate()}>
            Undo
          </BusyButton>
        )}
      </DialogButtons>
    </Stack>
  )
}

function titleOf(operation: BulkOperation): string {
  const { verb, done } = BULK_ACTIONS[operation.action]
  if (operation.status === 'running') return `${verb}: under way`
  if (operation.status === 'undone') return 'Undone'
  return `${plural(operation.total, 'token')} ${done}`
}
