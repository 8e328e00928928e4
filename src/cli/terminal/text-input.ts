// A text of any size that a command reads: a file, or standard input.
import { createReadStream, fstatSync, statSync } from 'node:fs'
import type { Text } from '../../tokens/leaks/candidates.ts'
import type { Output, Streams } from './output.ts'
import { type Progress, startBytes } from './progress.ts'

export const STANDARD_INPUT = '-'

/** Reads it while its progress is shown. */
export async function readText<Result>(
  streams: Streams,
  output: Output,
  file: string,
  work: (text: Text, progress: Progress) => Promise<Result>,
): Promise<Result> {
  const isInput = file === STANDARD_INPUT
  if (isInput && streams.stdin?.isTTY) streams.stderr.write('Paste the text, press Enter, then Ctrl-D.\n')
  const progress = startBytes(output, 'Reading', isInput ? sizeOf(streams.stdin) : statSync(file).size)
  const text = isInput ? bytesOf(streams.stdin ?? []) : createReadStream(file)
  return work(text, progress).finally(() => progress.done())
}

async function* bytesOf(input: AsyncIterable<string | Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) yield Buffer.from(chunk as Uint8Array)
}

/** Undefined for a pipe, or a terminal. */
function sizeOf(input: unknown): number | undefined {
  const { fd } = (input ?? {}) as { readonly fd?: number }
  const found = fd === undefined ? undefined : fstatSync(fd)
  return found?.isFile() ? found.size : undefined
}
