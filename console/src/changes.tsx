// Changes: nothing on screen moves before the service has confirmed, and then everything is read again.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { use, useEffect, useRef } from 'react'
import type { LatchkeyClient } from '../../client/latchkey-client.ts'
import { DialogContext } from './dialog.tsx'
import { Name } from './parts.tsx'
import { reasonOf } from './problems.ts'
import { useClient } from './session.tsx'
import { useToast } from './toasts.tsx'

/**
 * `of` is the name of what is changed. `done` is called even when the part that asked is no longer on screen, and a
 * failure that it cannot show any more becomes a message: whoever goes elsewhere meanwhile still hears what came of it.
 */
export function useChange<Result, Input = void>(
  of: string,
  make: (client: LatchkeyClient, input: Input) => Promise<Result>,
  done?: (result: Result, input: Input) => void,
) {
  const client = useClient()
  const queries = useQueryClient()
  const toast = useToast()
  const dialog = use(DialogContext)
  const gone = useRef(false)
  useEffect(() => {
    gone.current = false
    return () => {
      gone.current = true
    }
  }, [])
  return useMutation<Result, Error, Input>({
    ...(dialog && { mutationKey: dialog.mutationKey }),
    mutationFn: (input) => make(client, input),
    async onSuccess(result, input) {
      // Waited for: a dialog closes onto a list that already shows the change.
      await queries.invalidateQueries()
      done?.(result, input)
    },
    onError(error) {
      if (!gone.current) return
      const text = (
        <>
          No change of <Name>{of}</Name> is confirmed: {reasonOf(error)}
        </>
      )
      toast({ text, tone: 'bad' })
    },
  })
}

/** A retry with the same key makes no second token. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
