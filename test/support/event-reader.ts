// A client of Server-Sent Events that keeps everything it was sent.
const { request } = process.getBuiltinModule('node:http')

export interface ServerEvent {
  /** Empty without one. */
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
  readonly data: any
}

export class EventReader {
  readonly events: ServerEvent[] = []
  /** All that was sent. */
  text = ''
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly status: number
  isEnded = false
  readonly #response: import('node:http').IncomingMessage
  #change = Promise.withResolvers<void>()

  private constructor(response: import('node:http').IncomingMessage) {
    this.#response = response
    this.headers = response.headers
    this.status = response.statusCode ?? 0
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#add(chunk))
    for (const name of ['end', 'close', 'error']) {
      response.on(name, () => {
        this.isEnded = true
        this.#announce()
      })
    }
  }

  static open(base: string, path: string, headers: Readonly<Record<string, string>>): Promise<EventReader> {
    return new Promise((resolve, reject) => {
      const sent = request(`${base}${path}`, { headers, agent: false }, (response) =>
        resolve(new EventReader(response)),
      )
      sent.on('error', reject)
      sent.end()
    })
  }

  #add(chunk: string): void {
    this.text += chunk
    const blocks = this.text.split('\n\n').slice(0, -1)
    const events = blocks.map(parse).filter((event) => event !== undefined)
    this.events.splice(0, this.events.length, ...events)
    this.#announce()
  }

  #announce(): void {
    this.#change.resolve()
    this.#change = Promise.withResolvers()
  }

  /** Resolves when so many events have come, or the stream has ended. */
  async until(isEnough: (reader: EventReader) => boolean): Promise<readonly ServerEvent[]> {
    while (!isEnough(this) && !this.isEnded) await this.#change.promise
    return this.events
  }

  count(events: number): Promise<readonly ServerEvent[]> {
    return this.until((reader) => reader.events.length >= events)
  }

  ended(): Promise<readonly ServerEvent[]> {
    return this.until(() => false)
  }

  /** Takes nothing more of what is sent. */
  pause(): void {
    this.#response.pause()
  }

  close(): void {
    this.#response.destroy()
  }
}

function parse(block: string): ServerEvent | undefined {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]))
  const [id = '', event, data] = [fields.get('id'), fields.get('event'), fields.get('data')]
  if (event === undefined || data === undefined) return undefined
  return { id, event, data: JSON.parse(data) }
}
