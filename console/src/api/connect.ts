// The connection by which somebody asks the service, and the one place that notices that they may no longer ask.
import { createClient, type LatchkeyClient } from '../../../client/latchkey-client.ts'

/** Failed reads are repeated by TanStack Query, so that a view can say what it waits for; the client repeats none. */
const NO_RETRIES = { retries: 0 }

/** For a question about a key that nobody is signed in with. */
export const clientOf = (accountKey: string): LatchkeyClient => createClient({ ...NO_RETRIES, accountKey })

interface Caller {
  /** Undefined for a person, whose cookie the browser sends. */
  readonly accountKey?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Connection {
  readonly client: LatchkeyClient
  /** Asks for what happens in the account after this entry of the history, as Server-Sent Events. */
  readonly openEvents: (after: string, signal: AbortSignal) => Promise<Response>
  /** Asks for a list as CSV: `path` is below `/api/v1/apiClient/`, with its query. */
  readonly openCsv: (path: string, signal: AbortSignal) => Promise<Response>
}

/** `onRefused` is called for each 401, whichever request met it. */
export function connect(
  { accountKey, headers }: Caller,
  onRefused: (code: string | undefined, message: unknown) => void,
): Connection {
  const fetchAndNotice: typeof fetch = async (input, init) => {
    const response = await fetch(input, { ...init, headers: { ...(init?.headers as object), ...headers } })
    if (response.status === 401) {
      const body: unknown = await response
        .clone()
        .json()
        .catch(() => undefined)
      const code = response.headers.get('x-latchkey-error') ?? undefined
      onRefused(code, (body as { message?: unknown } | undefined)?.message)
    }
    return response
  }
  const open = (path: string, signal: AbortSignal, more?: Readonly<Record<string, string>>) =>
    fetchAndNotice(`/api/v1/apiClient/${path}`, {
      headers: { ...more, ...(accountKey !== undefined && { authorization: `Bearer ${accountKey}` }) },
      credentials: accountKey === undefined ? 'same-origin' : 'omit',
      redirect: 'manual',
      signal,
    })
  return {
    client: createClient({ ...NO_RETRIES, ...(accountKey !== undefined && { accountKey }), fetch: fetchAndNotice }),
    // Not by an EventSource, which sends no account key.
    openEvents: (after, signal) => open('events', signal, { 'last-event-id': after }),
    openCsv: (path, signal) => open(path, signal),
  }
}
