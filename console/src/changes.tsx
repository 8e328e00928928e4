// Changes: nothing on screen moves before the service has confirmed, and then what shows it is fetched again.
import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query'
import { use, useEffect, useRef } from 'react'
import type { LatchkeyClient } from '../../client/latchkey-client.ts'
import { DialogContext } from './dialog.tsx'
import { Name } from './parts.tsx'
import { reasonOf } from './problems.ts'
import { type Kind, LISTS, OUTDATED_BY } from './query-keys.ts'
import { useClient } from './session.tsx'
import { useToast } from './toasts.tsx'

interface Identified {
  readonly _id: string
}

/**
 * `name` is the name of what is changed. `done` is called even when the component that asked is no longer on screen, and
 * a failure that it cannot show any more becomes a message: a person who has left the view still learns the outcome. So does
 * one that was asked for in a message (`isFromToast`), while the dialog behind it is still closing.
 */
export function useChange<Result extends Identified | readonly Identified[], Input = void>(
  kind: Kind,
  name: string,
  make: (client: LatchkeyClient, input: Input) => Promise<Result>,
  done?: (result: Result, input: Input) => void,
  isFromToast: (input: Input) => boolean = () => false,
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
    onSuccess(result, input) {
      showConfirmed(queries, kind, [result].flat())
      done?.(result, input)
    },
    // Not awaited: a list that hangs must not hide an outcome, least of all a new credential. Also after a failure, since
    // the change may have been made although its answer was lost.
    onSettled() {
      for (const queryKey of OUTDATED_BY[kind]) void queries.invalidateQueries({ queryKey })
    },
    onError(error, input) {
      if (!gone.current && !isFromToast(input)) return
      const text = (
        <>
          No change of <Name>{name}</Name> is confirmed: {reasonOf(error)}
        </>
      )
      toast({ text, tone: 'bad' })
    },
  })
}

/** Lists show the confirmed answers at once, not only when they are fetched again. */
function showConfirmed(queries: QueryClient, kind: Kind, confirmed: readonly Identified[]): void {
  const byId = new Map(confirmed.map((each) => [each._id, each]))
  queries.setQueriesData<{ readonly items: readonly Identified[] }>(
    { queryKey: LISTS[kind] },
    (page) =>
      page && {
        ...page,
        items: page.items.map((item) => (byId.has(item._id) ? { ...item, ...byId.get(item._id) } : item)),
      },
  )
}

/** A retry with the same key makes no second token. */
export function newIdempotencyKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
