// Lines of the log on their way out: so many characters, or half a second, at a time. Writing is what a line costs most,
// and the destination's own buffer measures all that it holds with every line.
import pino from 'pino'

const AT_ONCE = 16_000
const FLUSH_MS = 500

export class LogLines {
  readonly #destination = pino.destination({ fd: 1, sync: false })
  readonly #flushing = setInterval(() => this.flush(), FLUSH_MS).unref()
  #lines = ''

  constructor() {
    process.once('exit', () => this.end())
  }

  write(line: string): void {
    this.#lines += line
    if (this.#lines.length >= AT_ONCE) this.flush()
  }

  flush(): void {
    if (this.#lines === '') return
    this.#destination.write(this.#lines)
    this.#lines = ''
  }

  /** Everything is written when it returns. */
  end(): void {
    clearInterval(this.#flushing)
    this.flush()
    this.#destination.flushSync()
  }
}
