// Editing something that somebody else may change meanwhile. A change is sent with the version that the person has seen; after a
// conflict the form keeps what was entered, and sends it again only when told to, once the other change is shown.
import { useEffect, useState } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import { isConflict } from './errors.ts'
import type { Identified, Kind } from './queries.ts'
import { useChange } from './use-change.tsx'

interface Edit<Thing, Input, Result> {
  readonly kind: Kind
  readonly name: string
  /** As it was last read; `ifMatch` is its ETag. */
  readonly now: Thing & { readonly ifMatch: string | undefined }
  readonly send: (client: LatchkeyClient, input: Input, ifMatch: string | undefined) => Promise<Result>
  /** Whether it is as it should be already, such as by an attempt whose answer was lost. */
  readonly isThere: (input: Input) => boolean
  readonly onSaved: (result: Result, base: Thing) => void
  /** Closes the form. */
  readonly close: () => void
}

export function useEdit<Thing, Input, Result extends Identified>(props: Edit<Thing, Input, Result>) {
  const { kind, name, now, send, isThere, onSaved, close } = props
  // As it was when the form was opened: a refresh may bring what somebody else has changed meanwhile.
  const [base] = useState(now)
  const change = useChange({
    kind,
    name,
    send: (client, { input, ifMatch }: { input: Input; ifMatch: string | undefined }) => send(client, input, ifMatch),
    onDone(result) {
      onSaved(result, base)
      close()
    },
  })
  const { error, isPending, variables: sent } = change
  const hasConflict = isConflict(error)
  // The version that was refused is not the one with the other change.
  const isRead = !hasConflict || now.ifMatch !== sent?.ifMatch
  const isDone = hasConflict && isRead && sent !== undefined && isThere(sent.input)
  useEffect(() => {
    if (isDone) close()
  }, [isDone, close])
  return {
    base,
    error,
    isPending,
    hasConflict,
    isRead,
    /** `hasSeen`: the person has seen what others have changed, and theirs is sent with the version that includes it. */
    save(input: Input, onError: (error: unknown) => void, hasSeen = hasConflict): void {
      if (isThere(input)) close()
      else change.mutate({ input, ifMatch: (hasSeen ? now : base).ifMatch }, { onError })
    },
    leave(): void {
      if (!isPending) close()
    },
  }
}

export type Editing = Pick<ReturnType<typeof useEdit>, 'hasConflict' | 'isRead' | 'isPending' | 'leave'>
