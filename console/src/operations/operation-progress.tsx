// How far a bulk operation is, or what has come of it.
import { Progress, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { BulkOperation } from '../../../client/latchkey-client.ts'
import { invalidate, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { outcomeOf, progressOf } from './operation-words.ts'

/** As it goes on. Tokens are read again once it is over. */
export function useOperation(id: string, begun?: BulkOperation) {
  const cache = useQueryClient()
  const operation = useQuery({ ...queries.bulkOperation(useClient(), id), ...(begun && { initialData: begun }) })
  const isRunning = operation.data?.status === 'running'
  useEffect(() => {
    if (isRunning) return () => invalidate(cache, 'token')
  }, [isRunning, cache])
  return operation
}

export function OperationProgress({ operation, hint }: { operation: BulkOperation; hint?: string }) {
  const isRunning = operation.status === 'running'
  return (
    <Stack gap="md">
      {isRunning && <Progress size="lg" value={progressOf(operation)} aria-label="Progress" />}
      <Text size="sm" role="status">
        {outcomeOf(operation)}
        {isRunning && ' … '}
        {isRunning && hint}
      </Text>
    </Stack>
  )
}
