// The load: a process of its own with raw sockets, so that its cost is small and never counted as the server's.
import { connect, type Socket } from 'node:net'
import { drawRequest, type Script } from './script.ts'

export interface Job {
  readonly port: number
  readonly script: string
  readonly connections: number
  /** How long; undefined: until each request of the script was sent once. */
  readonly milliseconds?: number | undefined
  /** Requests a second, whether answered or not; undefined: as many as the connections carry. */
  readonly rate?: number | undefined
  /** The wall answers at random, so that any success will do. */
  readonly anySuccess?: boolean | undefined
}

export interface Load {
  readonly requests: number
  readonly wrong: number
  readonly firstWrong: string
  readonly seconds: number
  readonly p50: number
  readonly p99: number
}

const LAST_ANSWERS_MS = 10_000
const LONGEST_MS = 300_000
const UNDER_WAY = 2

interface Drawn {
  readonly text: string
  readonly status: number
  readonly release?: () => void
}

/** Draws requests; the state of pairs lives as long as the script does. */
class Drawer {
  readonly script: Script
  readonly #turns = new Map<readonly string[], Uint8Array>()

  constructor(script: Script) {
    this.script = script
    for (const group of script.flatMap(({ groups }) => groups)) {
      this.#turns.set(group, new Uint8Array(group.length / 2))
    }
  }

  draw(): Drawn {
    for (let tries = 0; tries < 10_000; tries++) {
      const { part, group, at } = drawRequest(this.script)
      if (!part.inPairs) return { text: group[at] ?? '', status: part.status }
      const pair = Math.floor(at / 2)
      const turns = this.#turns.get(group)
      const turn = turns?.[pair] ?? UNDER_WAY
      if (turns === undefined || turn === UNDER_WAY) continue
      turns[pair] = UNDER_WAY
      const release = () => {
        turns[pair] = 1 - turn
      }
      return { text: group[2 * pair + turn] ?? '', status: part.status, release }
    }
    throw new Error('every pair is under way: there are too few')
  }
}

/** Every request of a script, once, in any order. */
function eachOnce(script: Script): Drawn[] {
  const drawn = script.flatMap(({ groups, status }) => groups.flat().map((text) => ({ text, status })))
  return [...new Map(drawn.map((each) => [each.text, each])).values()].sort(() => Math.random() - 0.5)
}

/** One connection, one request at a time. */
class Line {
  readonly #socket: Socket
  #received: Buffer | undefined
  #expected = -1
  #chunked = false
  #status = 0
  #done: ((status: number, head: string) => void) | undefined
  #head = ''

  constructor(port: number, fail: (error: Error) => void) {
    this.#socket = connect(port, '127.0.0.1')
    this.#socket.setNoDelay(true)
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
    this.#socket.on('error', fail)
    this.#socket.on('close', () => this.#done && fail(new Error('the server closed a connection under way')))
  }

  send(text: string, done: (status: number, head: string) => void): void {
    this.#done = done
    this.#socket.write(text)
  }

  end(): void {
    this.#done = undefined
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk])
    if (this.#expected < 0) {
      const end = bytes.indexOf('\r\n\r\n')
      if (end < 0) {
        this.#received = bytes
        return
      }
      this.#head = bytes.toString('latin1', 0, end)
      this.#status = Number(this.#head.slice(9, 12))
      const length = /\r\ncontent-length: *(\d+)/i.exec(this.#head)?.[1]
      this.#chunked = length === undefined && /\r\ntransfer-encoding: *chunked/i.test(this.#head)
      this.#expected = end + 4 + Number(length ?? 0)
    }
    const whole = this.#chunked
      ? bytes.length >= this.#expected + 5 && bytes.toString('latin1', bytes.length - 5) === '0\r\n\r\n'
      : bytes.length >= this.#expected
    if (!whole) {
      this.#received = bytes
      return
    }
    this.#received = undefined
    this.#expected = -1
    const done = this.#done
    this.#done = undefined
    done?.(this.#status, this.#head)
  }
}

const drawers = new Map<string, Drawer>()

async function run({ port, script, connections, milliseconds, rate, anySuccess }: Job): Promise<Load> {
  const drawer = drawers.get(script)
  if (drawer === undefined) throw new Error(`no script ${script}`)
  const once = milliseconds === undefined ? eachOnce(drawer.script) : undefined
  const finished = Promise.withResolvers<void>()
  const lines = Array.from({ length: connections }, () => new Line(port, finished.reject))
  const latencies: number[] = []
  let wrong = 0
  let firstWrong = ''
  let underWay = 0
  let lastAt = 0
  let over = false
  const begun = performance.now()
  const idle: Line[] = []
  const due: number[] = []

  const next = (line: Line): void => {
    if (once?.length === 0) over = true
    if (rate === undefined) {
      if (!over) ask(line, performance.now())
    } else {
      const at = due.shift()
      if (at === undefined) idle.push(line)
      else ask(line, at)
    }
    if (over && underWay === 0) finished.resolve()
  }
  const ask = (line: Line, at: number): void => {
    const { text, status, release } = once?.pop() ?? drawer.draw()
    underWay++
    line.send(text, (answered, head) => {
      underWay--
      release?.()
      lastAt = performance.now()
      latencies.push(lastAt - at)
      if (answered !== status && !(anySuccess && answered < 300) && wrong++ === 0)
        firstWrong = `${text.split('\r\n', 1)[0]} -> ${head}`
      next(line)
    })
  }
  for (const line of lines) next(line)
  let made = 0
  const pacing =
    rate === undefined
      ? undefined
      : setInterval(() => {
          const now = performance.now()
          for (const wanted = Math.min(milliseconds ?? 0, now - begun) * (rate / 1000); made < wanted; made++) {
            const line = idle.pop()
            if (line === undefined) due.push(now)
            else ask(line, now)
          }
        }, 1)
  const end = () => {
    over = true
    clearInterval(pacing)
    if (underWay === 0) finished.resolve()
  }
  const ending = milliseconds === undefined ? undefined : setTimeout(end, milliseconds)
  const limit = setTimeout(
    () => finished.reject(new Error('answers are missing')),
    (milliseconds ?? LONGEST_MS) + LAST_ANSWERS_MS,
  )
  try {
    await finished.promise
  } finally {
    clearInterval(pacing)
    clearTimeout(ending)
    clearTimeout(limit)
    for (const line of lines) line.end()
  }
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0
  const seconds = (lastAt - begun) / 1000
  return { requests: latencies.length, wrong, firstWrong, seconds, p50: at(0.5), p99: at(0.99) }
}

type Message = { readonly name: string; readonly script: Script } | { readonly job: Job }

process.on('message', (message: Message) => {
  if ('job' in message) {
    run(message.job).then(
      (load) => process.send?.({ load }),
      (error: Error) => process.send?.({ problem: error.message }),
    )
  } else {
    drawers.set(message.name, new Drawer(message.script))
    process.send?.({})
  }
})
process.once('disconnect', () => process.exit(0))
