// Follows a stream of Server-Sent Events: opens it again whenever it ends, and waits longer after each failure.
import { createParser } from 'eventsource-parser'

const FIRST_WAIT_MS = 2_000
const LONGEST_WAIT_MS = 60_000
/** The service sends something every 15 seconds. A connection that is silent for longer is dead, such as after a computer has slept. */
const SILENT_MS = 45_000

export interface StreamEvent {
  /** A reset may have none. */
  readonly id: string | undefined
  readonly name: string
  readonly data: string
}

interface Following {
  /** After the last event that came, the next time. */
  readonly open: (signal: AbortSignal) => Promise<Response>
  readonly onEvent: (event: StreamEvent) => void
  /** Ends it. */
  readonly signal: AbortSignal
}

export async function followEvents({ open, onEvent, signal }: Following): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const silence = new AbortController()
    let timer = setTimeout(() => silence.abort(), SILENT_MS)
    const onSign = () => {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENT_MS)
    }
    let askedMs = 0
    try {
      const response = await open(AbortSignal.any([signal, silence.signal]))
      askedMs = 1_000 * Number(response.headers.get('retry-after') ?? 0)
      if (response.ok && response.body !== null) {
        failures = 0
        await readEvents(response.body, onSign, onEvent)
      }
    } catch {
      // The connection is lost, or ended here.
    }
    clearTimeout(timer)
    await pause(Math.max(askedMs || 0, waitMs(failures)), signal)
  }
}

/** Half of it at random: pages that have lost the same service do not come back at the same moment. */
const waitMs = (failures: number): number =>
  Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + Math.random() / 2)

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true })
  })
}

async function readEvents(body: ReadableStream<Uint8Array>, onSign: () => void, onEvent: Following['onEvent']) {
  const parser = createParser({
    onEvent: ({ id, event: name, data }) => name !== undefined && onEvent({ id, name, data }),
  })
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    onSign()
    parser.feed(value)
  }
}
