// A list as CSV, from the service into a file: piece by piece where the browser can write files, otherwise through memory.
import { dataOf } from '../../../client/answer.ts'
import { LatchkeyError } from '../../../client/latchkey-client.ts'
import type { Connection } from '../api/connect.ts'

const MB = 1_000_000
/** What is kept in memory in a browser that cannot write files: about half a million tokens. */
const MOST_IN_MEMORY = 100 * MB

type Params = Readonly<Record<string, unknown>>

export interface Export {
  /** Below `/api/v1/apiClient/`. */
  readonly path: string
  /** The filters of the list. */
  readonly params: Params
  readonly fileName: string
}

/** In Chromium only. */
interface FilePicker {
  readonly showSaveFilePicker?: (options: {
    readonly suggestedName: string
    readonly types: readonly { readonly accept: Readonly<Record<string, readonly string[]>> }[]
  }) => Promise<FileSystemFileHandle>
}

/** Rejects with the signal's reason once it is called off, and with an AbortError when no file is chosen. */
export async function saveCsv(
  { openCsv }: Pick<Connection, 'openCsv'>,
  { path, params, fileName }: Export,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  // Asked before the request: a browser allows it only just after a click, and the service would wait while a person chooses.
  const file = await chooseFile(fileName)
  signal.throwIfAborted()
  const body = await request(() => openCsv(`${path}?${queryOf(params)}`, signal))
  const pieces = body.pipeThrough(counting(onBytes), { signal })
  try {
    // What is written appears in the file only when all of it has come.
    if (file !== undefined) await pieces.pipeTo(await file.createWritable(), { signal })
    else saveAs(await inMemory(pieces), fileName)
  } catch (cause) {
    signal.throwIfAborted()
    if (cause instanceof TypeError) throw unreachable('The connection broke off. Nothing is saved', cause)
    throw cause
  }
}

async function chooseFile(suggestedName: string): Promise<FileSystemFileHandle | undefined> {
  const types = [{ accept: { 'text/csv': ['.csv'] } }]
  return (window as FilePicker).showSaveFilePicker?.({ suggestedName, types })
}

function queryOf(params: Params): URLSearchParams {
  const sent = Object.entries({ ...params, format: 'csv' }).filter(([, value]) => value !== undefined)
  return new URLSearchParams(sent.flatMap(([name, value]) => [value].flat().map((each) => [name, String(each)])))
}

async function request(open: () => Promise<Response>): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const response = await open().catch((cause) => {
    throw cause instanceof TypeError ? unreachable('The service cannot be reached', cause) : cause
  })
  const { status, headers, body } = response
  if (status !== 200) dataOf({ status, headers, text: await response.text() }, 'data')
  if (body === null || !headers.get('content-type')?.startsWith('text/csv')) {
    throw new LatchkeyError('The answer is not CSV', { code: 'unexpected-answer', status })
  }
  return body
}

const unreachable = (message: string, cause: unknown) => new LatchkeyError(message, { code: 'unreachable', cause })

function counting(onBytes: (bytes: number) => void) {
  let bytes = 0
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(piece, controller) {
      bytes += piece.byteLength
      onBytes(bytes)
      controller.enqueue(piece)
    },
  })
}

async function inMemory(pieces: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<Blob> {
  const kept: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  // Leaving the loop ends the request.
  for await (const piece of pieces) {
    bytes += piece.byteLength
    if (bytes > MOST_IN_MEMORY) throw new TooLarge()
    kept.push(piece)
  }
  return new Blob(kept, { type: 'text/csv' })
}

export class TooLarge extends Error {
  override readonly message =
    `this browser can save at most ${MOST_IN_MEMORY / MB} MB. Set more filters, take a browser that can write files, such as Chrome, or the command line`
}

function saveAs(content: Blob, fileName: string): void {
  const href = URL.createObjectURL(content)
  const link = Object.assign(document.createElement('a'), { href, download: fileName })
  link.click()
  // The browser may begin to read it only after the click.
  setTimeout(() => URL.revokeObjectURL(href), 60_000)
}
