// Changes: nothing on screen moves before the service has confirmed, and then everything is read again.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { LatchkeyClient } from '../../client/latchkey-client.ts'
import { useClient } from './session.tsx'

export function useChange<Result, Input = void>(make: (client: LatchkeyClient, input: Input) => Promise<Result>) {
  const client = useClient()
  const queries = useQueryClient()
  return useMutation<Result, Error, Input>({
    mutationFn: (input) => make(client, input),
    // Waited for: a dialog closes onto a list that already shows the change.
    onSuccess: () => queries.invalidateQueries(),
  })
}

/** A retry with the same key makes no second token. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
