// Switches something on or off, reports it in a toast, and offers to undo it.
import type { Call, LatchkeyClient } from '../../../client/latchkey-client.ts'
import { Outcome } from '../ui/name.tsx'
import { useToast } from '../ui/toasts.tsx'
import { type Identified, type Kind, withETag } from './queries.ts'
import { useChange } from './use-change.tsx'

interface Toggled<Status> extends Identified {
  readonly name: string
  readonly status: Status
}

interface Toggle<Status extends string> {
  readonly kind: Kind
  readonly item: Toggled<Status>
  readonly read: (client: LatchkeyClient) => Call<Toggled<Status>>
  /** `ifMatch` is the ETag of what was read or is undone: what somebody else has changed since is not overwritten. */
  readonly send: (client: LatchkeyClient, status: Status, ifMatch: string | undefined) => Call<Toggled<Status>>
  readonly opposite: (status: Status) => Status
  /** What has happened to an item that now has this status, such as "is enabled". */
  readonly outcome: (status: Status) => string
}

interface Input<Status> {
  readonly status: Status
  readonly undo?: { readonly ifMatch: string | undefined }
}

export function useToggle<Status extends string>(props: Toggle<Status>) {
  const { kind, item, read, send, opposite, outcome } = props
  const toast = useToast()
  const change = useChange({
    kind,
    name: item.name,
    async send(client, { status, undo }: Input<Status>): Promise<Toggled<Status> & { etag?: string | undefined }> {
      if (undo) return withETag(send(client, status, undo.ifMatch))
      const { etag, ...now } = await withETag(read(client))
      // Somebody else has done it already, and only they can tell whether it may be undone.
      if (now.status === status) return now
      return withETag(send(client, status, etag))
    },
    onDone({ name, status, etag }, { undo }) {
      const text = <Outcome name={name} what={outcome(status)} />
      if (undo !== undefined || etag === undefined) toast({ text })
      else toast({ text, undo: () => change.mutate({ status: opposite(status), undo: { ifMatch: etag } }) })
    },
    isFromToast: ({ undo }) => undo !== undefined,
  })
  return {
    toggle: (onSuccess: () => void) => change.mutate({ status: opposite(item.status) }, { onSuccess }),
    error: change.error,
    isPending: change.isPending,
  }
}
