// What a process asked of the system, in the order of asking, as `strace -f -y -xx` wrote it down.

export interface SystemCall {
  readonly name: string
  /** The file or socket behind the first argument, or the path that it is. */
  readonly path: string
  /** Every string among the arguments, put together: what is written. */
  readonly data: Buffer
  /** The last argument that is a number: the offset of a write, the length of a truncation. */
  readonly last: number
  readonly flags: string
}

export type Moment =
  | { readonly kind: 'start'; readonly call: SystemCall }
  | { readonly kind: 'end'; readonly call: SystemCall; readonly result: number }

export const TRACED = 'openat,unlink,pwrite64,write,writev,ftruncate,fsync,fdatasync'

const LINE = /^(\d+) +(.*)$/
const RESUMED = /^<\.\.\. \w+ resumed>/
const RESULT = / = (-?\d+)[^=]*$/

export function* readMoments(log: Iterable<string>): Generator<Moment> {
  const underway = new Map<string, SystemCall>()
  for (const line of log) {
    const [, thread = '', text = ''] = LINE.exec(line) ?? []
    if (text === '' || /^(\+\+\+|---)/.test(text)) continue
    let call = underway.get(thread)
    if (RESUMED.test(text)) underway.delete(thread)
    else {
      call = readCall(text)
      yield { kind: 'start', call }
      if (text.endsWith('<unfinished ...>')) {
        underway.set(thread, call)
        continue
      }
    }
    // A call that was under way when the log begins or ends tells nothing.
    const result = RESULT.exec(text)?.[1]
    if (call !== undefined && result !== undefined) yield { kind: 'end', call, result: Number(result) }
  }
}

function readCall(text: string): SystemCall {
  const name = text.slice(0, text.indexOf('('))
  const named = /^\w+\(\d+<([^>]*)>/.exec(text)?.[1]
  const strings = [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex = '']) => hex)
  const data = unhex(strings.join(''))
  const path = named === undefined ? data.toString() : unhex(named).toString()
  const numbers = /, (\d+)\)?$/.exec(text.replace(/ = .*$| <unfinished.*$/, '').trimEnd())
  const flags = /, (O_[A-Z_|]+)/.exec(text)?.[1] ?? ''
  return { name, path, data, last: Number(numbers?.[1] ?? 0), flags }
}

function unhex(text: string): Buffer {
  return Buffer.from(text.replaceAll('\\x', ''), 'hex')
}
