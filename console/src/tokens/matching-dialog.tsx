// Everything that a list filter matches, changed by one operation of the service: first the exact number and some of them, then what is done
// and why, then its progress, and undo. It goes on without this page.
import { Button, NativeSelect, Progress, Stack, Text, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { BulkFilter, BulkOperation, BulkPreview } from '../../../client/latchkey-client.ts'
import { invalidate, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useChange } from '../api/use-change.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { ChangeButtons, DialogButtons, useDialogTitle } from '../ui/dialog.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { number, plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'

type Action = BulkOperation['action']

const ACTIONS: Readonly<Record<Action, { readonly verb: string; readonly done: string; readonly means: string }>> = {
  disable: {
    verb: 'Disable',
    done: 'disabled',
    means: 'Every request with their credentials is refused. Can be undone.',
  },
  enable: {
    verb: 'Enable',
    done: 'enabled',
    means: 'They authenticate again, unless expired or their sub-account is suspended. Can be undone.',
  },
  expire: { verb: 'Expire', done: 'expired', means: 'Their time ends now, and they are refused. Can be undone.' },
  delete: { verb: 'Delete', done: 'deleted', means: 'They are gone, and nothing brings them back.' },
}

const isAction = (value: string): value is Action => Object.hasOwn(ACTIONS, value)

export function MatchingDialog({ filter, close }: { filter: BulkFilter; close: () => void }) {
  const [operation, setOperation] = useState<BulkOperation>()
  const preview = useQuery({ ...queries.bulkPreview(useClient(), filter), enabled: operation === undefined })
  if (operation !== undefined) return <Progressing begun={operation} close={close} />
  return (
    <QueryResult query={preview} what="what matches" rows={4}>
      {(found) => <Question filter={filter} found={found} onBegun={setOperation} />}
    </QueryResult>
  )
}

interface QuestionProps {
  readonly filter: BulkFilter
  readonly found: BulkPreview
  readonly onBegun: (operation: BulkOperation) => void
}

function Question({ filter, found: { total, sample }, onBegun }: QuestionProps) {
  const [action, setAction] = useState<Action>('disable')
  const [reason, setReason] = useState('')
  const begin = useChange({
    kind: 'token',
    name: 'the tokens that match',
    async send(client): Promise<BulkOperation> {
      const body = { action, filter, expectedTotal: total, reason: reason.trim() || undefined }
      return (await client.changeTokens({ body })) as BulkOperation
    },
    onDone: onBegun,
    unseen: () => ({ text: `${ACTIONS[action].verb} ${plural(total, 'token')}: begun` }),
  })
  const { verb, means } = ACTIONS[action]
  useDialogTitle(`${verb} all ${plural(total, 'token')} that match?`)
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
        data={Object.entries(ACTIONS).map(([value, each]) => ({ value, label: each.verb }))}
        onChange={({ currentTarget: { value } }) => isAction(value) && setAction(value)}
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
        {`${verb} ${plural(total, 'token')}`}
      </ChangeButtons>
    </Stack>
  )
}

function Progressing({ begun, close }: { begun: BulkOperation; close: () => void }) {
  const cache = useQueryClient()
  const { data, error, refetch, isFetching } = useQuery(queries.bulkOperation(useClient(), begun))
  const operation = data ?? begun
  const { status, total, done, skipped, undo, action } = operation
  const isRunning = status === 'running'
  useEffect(() => {
    if (!isRunning) invalidate(cache, 'token')
  }, [isRunning, cache])
  const back = useChange({
    kind: 'token',
    name: 'the tokens that matched',
    send: (client) => client.undoBulk({ id: begun._id }),
    onDone: () => void refetch(),
  })
  useDialogTitle(titleOf(operation))
  return (
    <Stack gap="md">
      <Progress size="lg" value={total === 0 ? 100 : ((done + skipped) / total) * 100} aria-label="Progress" />
      <Text size="sm" role="status">
        {number(done)} of {plural(total, 'token')} {ACTIONS[action].done}
        {skipped > 0 && `, ${number(skipped)} left as they were`}
        {isRunning && ' … It goes on if you close this.'}
        {undo && `. ${number(undo.restored)} restored, ${number(undo.kept)} changed by others since and kept.`}
        {status === 'failed' && '. It has stopped: the key or session that began it has ended.'}
      </Text>
      {error !== null && <ErrorAlert error={error} kind="read" retry={() => void refetch()} busy={isFetching} />}
      {back.error !== null && (
        <ErrorAlert error={back.error} kind="change" retry={() => back.mutate()} busy={back.isPending} />
      )}
      <DialogButtons cancel="Close">
        {status === 'done' && action !== 'delete' && (
          <BusyButton variant="default" busy={back.isPending} onClick={() => back.mutate()}>
            Undo
          </BusyButton>
        )}
        {isRunning && (
          <Button variant="default" onClick={close}>
            Leave it running
          </Button>
        )}
      </DialogButtons>
    </Stack>
  )
}

function titleOf({ status, total, action }: BulkOperation): string {
  const { verb, done } = ACTIONS[action]
  if (status === 'running') return `${verb}: under way`
  if (status === 'undone') return 'Undone'
  return `${plural(total, 'token')} ${done}`
}
