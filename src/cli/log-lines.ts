// Lines of the log on their way out: so many characters, or half a second, at a time, since writing is what a line costs
// most. The log never holds up the service: what cannot be written is dropped, counted and told.
import { fstatSync, write, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

const STDOUT = 1
const STDERR = 2
const AT_ONCE = 16_000
const FLUSH_MS = 500
/** So many bytes the system puts into a pipe whole or not at all: what several processes write there does not mix. */
const WHOLE_IN_PIPE = 4_096
/** For a reader who is slow; beyond this, lines are dropped. */
const MOST_WAITING = 8_000_000
const RETRY_MS = 20
/** No longer does an end wait for a reader who takes nothing. */
const END_MS = 1_000

export class LogLines {
  /** Of one write. */
  readonly #most: number
  readonly #flushing = setInterval(() => this.#flush(), FLUSH_MS).unref()
  #lines = ''
  #writing: Promise<void> | undefined
  #dropped = 0
  #failing = false
  #ended = false

  /** `shared`: other processes write to the same place. */
  constructor(shared: boolean) {
    this.#most = shared && !fstatSync(STDOUT).isFile() ? WHOLE_IN_PIPE : Number.MAX_SAFE_INTEGER
    process.once('exit', () => this.#writeRest())
  }

  write(line: string): void {
    if (this.#lines.length >= MOST_WAITING) {
      this.#dropped++
      return
    }
    this.#lines += line
    if (this.#lines.length >= AT_ONCE) this.#flush()
  }

  /** Resolves when all is written, or cannot be. */
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
      if (this.#lines.length >= AT_ONCE && !this.#ended) this.#flush()
    })
  }

  /** What is there now. What comes meanwhile waits until it is worth a write. */
  async #writeSome(): Promise<void> {
    for (let wanted = this.#lines.length; wanted > 0 && this.#lines !== ''; ) {
      const before = this.#lines.length
      let left = this.#take()
      wanted -= before - this.#lines.length
      while (left.length > 0) {
        try {
          left = left.subarray(await written(left))
          this.#failing = false
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return this.#drop(left, error as Error)
          if (this.#ended) return
          await pause(RETRY_MS)
        }
      }
    }
  }

  /** Whole lines: as many as go at once, one at least. */
  #take(): Buffer {
    if (this.#dropped > 0) return this.#noteDropped()
    const { length } = this.#lines
    const last = length <= this.#most ? length - 1 : this.#lines.lastIndexOf('\n', this.#most - 1)
    const end = 1 + (last === -1 ? this.#lines.indexOf('\n') : last)
    const piece = this.#lines.slice(0, end)
    this.#lines = this.#lines.slice(end)
    return Buffer.from(piece)
  }

  #noteDropped(): Buffer {
    const dropped = this.#dropped
    this.#dropped = 0
    const line = { level: 40, time: Date.now(), pid: process.pid, dropped, msg: 'lines of the log were dropped' }
    return Buffer.from(`${JSON.stringify(line)}\n`)
  }

  #drop(piece: Buffer, error: Error): void {
    this.#dropped += countLines(piece.toString()) + countLines(this.#lines)
    this.#lines = ''
    if (this.#failing) return
    this.#failing = true
    tell(`latchkey: the log cannot be written (${error.message}); its lines are dropped until it can be.`)
  }

  /** The process ends now: what the reader does not take at once is lost. */
  #writeRest(): void {
    try {
      while (this.#lines !== '') writeSync(STDOUT, this.#take())
    } catch {
      // Nobody is left to be told.
    }
  }
}

function written(bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(STDOUT, bytes, (error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

const countLines = (text: string) => text.split('\n').length - 1

/** Where nobody can be told, the service goes on all the same. */
function tell(text: string): void {
  try {
    writeSync(STDERR, `${text}\n`)
  } catch {
    // It may well be the same full disk.
  }
}
