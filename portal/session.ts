// A session of the portal, which a code is exchanged for. Its bearer stays in here: no storage, no element, no event gets it.
import { type ClientOptions, createClient, type LatchkeyClient, type Operations } from '../client/latchkey-client.ts'

type Begun = Operations['beginPortalSession']['data']

export interface Session extends Omit<Begun, 'session'> {
  readonly client: LatchkeyClient
  /** Aborted when the session ends, or its element is removed from the page. */
  readonly signal: AbortSignal
}

interface Life {
  readonly signal: AbortSignal
  /** Called when the service refuses the code or the session, or its time is over: perhaps more than once. */
  readonly expire: () => void
}

export async function beginSession(baseUrl: string, code: string, { signal, expire }: Life): Promise<Session> {
  const options: ClientOptions = {
    baseUrl,
    credentials: 'omit',
    onAttempt({ status }) {
      if (status === 401) expire()
    },
  }
  const { session, ...begun } = await createClient(options).beginPortalSession({ body: { code } }, { signal })
  signal.throwIfAborted()
  const leftMs = Date.parse(begun.expiresAt) - Date.now()
  // A session that has just begun is not over: the clock here is wrong, and the service will say when it ends.
  if (leftMs > 0) {
    const timer = setTimeout(expire, leftMs)
    signal.addEventListener('abort', () => clearTimeout(timer))
  }
  return { ...begun, client: createClient({ ...options, accountKey: session }), signal }
}
