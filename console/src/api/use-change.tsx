// Changes: nothing on screen moves before the service has confirmed, and then what shows it is fetched again.
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { use, useEffect, useRef } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { DialogContext } from '../ui/dialog-context.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import { type Toast, useToast } from '../ui/toasts.tsx'
import { shortReason } from './errors.ts'
import { type Identified, invalidate, type Kind, updateCached } from './queries.ts'
import { useClient } from './session.tsx'

interface Change<Result, Input> {
  readonly kind: Kind
  /** The name of what is changed, for the message about a failure. */
  readonly name: string
  readonly send: (client: LatchkeyClient, input: Input) => Promise<Result>
  /** Called even when the component that asked is no longer on screen. */
  readonly onDone?: (result: Result, input: Input) => void
  /** What to say of an outcome that only the component shows, when that is no longer on screen. */
  readonly unseen?: (result: Result, input: Input) => Toast
  /** Whether this input came from a toast, such as an undo: its failure is then shown as a toast too. */
  readonly isFromToast?: (input: Input) => boolean
}

/** What the component can no longer show becomes a toast, so that a person who has left still learns of it. */
export function useChange<Result extends Identified | readonly Identified[], Input = void>({
  kind,
  name,
  send,
  onDone,
  unseen,
  isFromToast = () => false,
}: Change<Result, Input>) {
  const client = useClient()
  const cache = useQueryClient()
  const toast = useToast()
  const dialog = use(DialogContext)
  const unmounted = useRef(false)
  useEffect(() => {
    unmounted.current = false
    return () => {
      unmounted.current = true
    }
  }, [])
  return useMutation<Result, Error, Input>({
    ...(dialog && { mutationKey: dialog.mutationKey }),
    mutationFn: (input) => send(client, input),
    onSuccess(result, input) {
      updateCached(cache, kind, [result].flat())
      onDone?.(result, input)
      if (unmounted.current && unseen) toast(unseen(result, input))
    },
    // Also after a failure: the change may have been made although its answer was lost.
    onSettled: () => invalidate(cache, kind),
    onError(error, input) {
      if (!unmounted.current && !isFromToast(input)) return
      toast({ text: say`No change of ${<Name>{name}</Name>} is confirmed: ${shortReason(error)}`, tone: 'bad' })
    },
  })
}
