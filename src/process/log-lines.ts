// Writes the log to standard output, in batches, since the write is the most expensive part of a log line. The log never
// blocks the service: lines that cannot be written are dropped, counted and reported. pino's own destination cannot be used:
// with a full disk, or a reader that does not read, its flush at exit retries forever.
import { fstatSync, write, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

const STDOUT = 1
const writeAsync = promisify(write)
/** Characters that are written at once, without waiting for the flush interval. */
const BATCH_LENGTH = 16_000
const FLUSH_MS = 500
/** PIPE_BUF, in bytes: a write to a pipe is atomic up to this size, so lines of several processes do not mix. */
const MAX_ATOMIC_WRITE = 4_096
/** Characters buffered for a slow reader; beyond this, lines are dropped. */
const MAX_WAITING = 8_000_000
const RETRY_MS = 20
/** How long `end` waits for a slow reader. */
const END_MS = 1_000

export class LogLines {
  /** Characters per write. Non-ASCII text has more bytes, so its writes may not be atomic. */
  readonly #maxWrite: number
  readonly #flushing = setInterval(() => this.#flush(), FLUSH_MS).unref()
  #lines = ''
  #writing: Promise<void> | undefined
  #dropped = 0
  /** How many dropped lines the piece that is being written reports. */
  #reported = 0
  #failing = false
  #ended = false

  /** `shared`: other processes write to the same standard output. */
  constructor(shared: boolean) {
    this.#maxWrite = shared && !fstatSync(STDOUT).isFile() ? MAX_ATOMIC_WRITE : Number.MAX_SAFE_INTEGER
    process.once('exit', () => this.#writeRest())
  }

  write(line: string): void {
    if (this.#lines.length >= MAX_WAITING) {
      this.#dropped++
      return
    }
    this.#lines += line
    if (this.#lines.length >= BATCH_LENGTH) this.#flush()
  }

  /** Resolves when everything is written, or after a timeout. */
  async end(): Promise<void> {
    clearInterval(this.#flushing)
    const giveUp = new AbortController()
    await Promise.race([this.#drain(), pause(END_MS, undefined, { signal: giveUp.signal }).catch(() => {})])
    giveUp.abort()
    this.#ended = true
  }

  async #drain(): Promise<void> {
    while ((this.#lines !== '' || this.#writing !== undefined) && !this.#ended) {
      this.#flush()
      await this.#writing
    }
  }

  #flush(): void {
    if (this.#lines === '') return
    this.#writing ??= this.#writeSome().finally(() => {
      this.#writing = undefined
      if (this.#lines.length >= BATCH_LENGTH && !this.#ended) this.#flush()
    })
  }

  /** Writes the lines that are buffered now. Lines added meanwhile wait for the next batch. */
  async #writeSome(): Promise<void> {
    for (let wanted = this.#lines.length; wanted > 0 && this.#lines !== ''; ) {
      const before = this.#lines.length
      let left = this.#take()
      wanted -= before - this.#lines.length
      while (left.length > 0) {
        try {
          left = left.subarray((await writeAsync(STDOUT, left)).bytesWritten)
          this.#failing = false
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return this.#drop(left, error as Error)
          if (this.#ended) return
          await pause(RETRY_MS)
        }
      }
      this.#reported = 0
    }
  }

  /** Removes whole lines from the buffer: as many as fit into one write, at least one. */
  #take(): Buffer {
    if (this.#dropped > 0) return this.#noteDropped()
    const { length } = this.#lines
    const last = length <= this.#maxWrite ? length - 1 : this.#lines.lastIndexOf('\n', this.#maxWrite - 1)
    const end = 1 + (last === -1 ? this.#lines.indexOf('\n') : last)
    const piece = this.#lines.slice(0, end)
    this.#lines = this.#lines.slice(end)
    return Buffer.from(piece)
  }

  #noteDropped(): Buffer {
    const dropped = this.#dropped
    this.#dropped = 0
    this.#reported = dropped
    const line = { level: 40, time: Date.now(), pid: process.pid, dropped, msg: 'lines of the log were dropped' }
    return Buffer.from(`${JSON.stringify(line)}\n`)
  }

  #drop(piece: Buffer, error: Error): void {
    this.#dropped += (this.#reported || countLines(piece.toString())) + countLines(this.#lines)
    this.#reported = 0
    this.#lines = ''
    if (this.#failing) return
    this.#failing = true
    // Ignores a standard error that fails too.
    console.error(`latchkey: the log cannot be written (${error.message}); its lines are dropped until it can be.`)
  }

  /** At exit, what cannot be written at once is lost. */
  #writeRest(): void {
    try {
      while (this.#lines !== '') writeSync(STDOUT, this.#take())
    } catch {
      // Nothing can be reported at exit.
    }
  }
}

const countLines = (text: string) => text.split('\n').length - 1
