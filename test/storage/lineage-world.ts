// Two processes, a database and their files, of which only lineage/marks.ts is real: what it decides in every order of a few
// events, and what it should. Time, transactions and files are simple here: each event is whole before the next one begins.
import { type Found, findLoss, Knowledge, type Mark, type Own } from '../../src/storage/postgres/lineage/marks.ts'

const DAY = 86_400_000
const KEPT = 90 * DAY

const OF_A_PROCESS = [
  // A revocation that is confirmed.
  'change',
  // One that passed all checks and waits; and is confirmed later, whatever has happened meanwhile.
  'begin',
  'commit',
  // The same, while the process compares what it knows with the database.
  'overlap',
  // A revocation that finds nothing left to do, because of what others have committed, and is confirmed.
  'repeat',
  // One that is committed or not, and the answer to COMMIT is lost.
  'lostCommitted',
  'lostUndone',
  // A crash after COMMIT, before the file is written.
  'crash',
  // The primary is checked; also at the time at which the file is written.
  'renew',
  'save',
  // The process ends, however, or starts.
  'end',
  'start',
  'loseFiles',
] as const
const OF_ALL = ['backup', 'restore', 'restoreSecond', 'accept', 'months'] as const

export type Event = `${(typeof OF_A_PROCESS)[number]} ${0 | 1}` | (typeof OF_ALL)[number]

export const EVENTS: readonly Event[] = [
  ...OF_ALL,
  ...OF_A_PROCESS.flatMap((each) => [`${each} 0`, `${each} 1`] as Event[]),
]

/** Rules to be tried. */
export interface Rules {
  /** As it was: a revocation implies what was known when it began, also if that was never compared with this database. */
  readonly prunes?: boolean
  /** A mark is raised from wherever it stands. */
  readonly raisesBlindly?: boolean
  /** A mark is used again although the answer to COMMIT was lost. */
  readonly keepsUncertain?: boolean
}

interface Database {
  readonly marks: Map<string, Pick<Mark, 'number' | 'at'>>
  /** What was committed here. */
  readonly revoked: Set<number>
  readonly epochs: string[]
  refusedBecause: string | null
  forgottenUntil: number
}

interface File {
  readonly marks: readonly Mark[]
  readonly implies: ReadonlySet<number>
}

/** `implies`, the model: every revocation that was in the database when one of the known marks was confirmed. */
interface Process {
  readonly knowledge: Knowledge
  readonly implies: Set<number>
  readonly read: Set<File>
  /** The start of the server that it checked last. */
  held: number
  isRefusing: boolean
  begun: number
}

export class World {
  readonly #rules: Rules
  readonly #folders: Set<File>[]
  readonly #processes: (Process | undefined)[] = [undefined, undefined]
  readonly #backups: Database[] = []
  #db: Database = {
    marks: new Map(),
    revoked: new Set(),
    epochs: ['e1'],
    refusedBecause: null,
    forgottenUntil: 0,
  }
  #server = 1
  #now = 1_000 * DAY
  #made = 0
  /** What need not be known any more. */
  readonly #excused = new Set<number>()
  wasRestored = false

  /** With both processes running, which share a folder or do not. */
  constructor(isShared: boolean, rules: Rules = {}) {
    this.#rules = rules
    const first = new Set<File>()
    this.#folders = [first, isShared ? first : new Set()]
    for (const p of [0, 1]) this.#start(p)
  }

  /** False if the event cannot happen now. */
  happen(event: Event): boolean {
    this.#now++
    const [name, p] = event.split(' ') as [(typeof OF_A_PROCESS)[number] | (typeof OF_ALL)[number], string?]
    return p === undefined ? this.#happenToAll(name as (typeof OF_ALL)[number]) : this.#happenTo(Number(p), name)
  }

  /** Whether the process, started if it does not run, accepts a token that it could know to be revoked; or refuses all. */
  verify(p: number): 'right' | 'wrong' | 'refused' {
    this.#start(p)
    const process = this.#processes[p] as Process
    if (process.held !== this.#server) this.#check(p, process)
    if (process.isRefusing) return 'refused'
    const isLost = (each: number) => !this.#db.revoked.has(each) && !this.#excused.has(each)
    return [...process.implies].some(isLost) ? 'wrong' : 'right'
  }

  #happenToAll(name: (typeof OF_ALL)[number]): boolean {
    if (name === 'backup') return this.#backups.length < 2 && this.#backups.push(copyOf(this.#db)) > 0
    if (name === 'accept') {
      if (!this.wasRestored) return false
      this.#db.epochs.push(`e${this.#now}`)
      this.#db.refusedBecause = null
      return this.#excuse()
    }
    if (name === 'months') return this.#passMonths()
    const saved = this.#backups[name === 'restore' ? 0 : 1]
    if (saved === undefined) return false
    this.#db = copyOf(saved)
    this.#server++
    this.wasRestored = true
    return true
  }

  #happenTo(p: number, name: (typeof OF_A_PROCESS)[number] | (typeof OF_ALL)[number]): boolean {
    const process = this.#processes[p]
    if (name === 'start') return process === undefined && this.#start(p)
    if (name === 'loseFiles') return this.#folders[p]?.size !== 0 && (this.#folders[p]?.clear() ?? true)
    if (process === undefined) return false
    if (name === 'end') {
      this.#processes[p] = undefined
      return true
    }
    if (name === 'renew') return this.#check(p, process)
    if (name === 'save') {
      this.#check(p, process)
      this.#readFiles(p, process)
      return this.#save(p, process)
    }
    if (name === 'commit' || name === 'overlap') {
      if (process.begun === 0) return false
      const revocation = process.begun
      process.begun = 0
      if (name === 'commit') return this.#change(p, process, revocation)
      this.#check(p, process, () => this.#change(p, process, revocation))
      return true
    }
    if (process.isRefusing) return false
    if (name === 'begin') {
      if (process.begun > 0) return false
      process.begun = ++this.#made
      return true
    }
    if (name === 'repeat') return this.#db.revoked.size > 0 && this.#change(p, process, undefined)
    if (name === 'change') return this.#change(p, process, ++this.#made)
    if (name === 'crash') {
      this.#raise(process.knowledge.take())
      this.#db.revoked.add(++this.#made)
      this.#processes[p] = undefined
      return true
    }
    const own = process.knowledge.take()
    if (name === 'lostCommitted') {
      this.#raise(own)
      this.#db.revoked.add(++this.#made)
    }
    if (this.#rules.keepsUncertain) process.knowledge.release(own)
    return true
  }

  #start(p: number): true {
    if (this.#processes[p] !== undefined) return true
    const made: Process = {
      knowledge: new Knowledge(),
      implies: new Set(),
      read: new Set(),
      held: 0,
      isRefusing: false,
      begun: 0,
    }
    this.#processes[p] = made
    this.#readFiles(p, made)
    this.#save(p, made)
    return this.#check(p, made)
  }

  #change(p: number, process: Process, revocation: number | undefined): true {
    const { knowledge } = process
    const raised = this.#raise(knowledge.take())
    if (revocation !== undefined) {
      this.#db.revoked.add(revocation)
      this.#excused.delete(revocation)
    }
    if (this.#rules.prunes) {
      knowledge.imply({ ...this.#find([]), numbers: Object.fromEntries(knowledge.marks.map((m) => [m.id, m.number])) })
    }
    this.#confirm(process, raised)
    return this.#save(p, process)
  }

  /** `meanwhile`: after it was read, and before it is committed. */
  #check(p: number, process: Process, meanwhile: () => void = () => {}): true {
    const { knowledge } = process
    if (process.held !== this.#server) this.#readFiles(p, process)
    const found = this.#find(knowledge.marks)
    const loss = findLoss(found, knowledge.marks)
    const own = loss === undefined ? knowledge.take() : undefined
    meanwhile()
    process.isRefusing = loss !== undefined
    if (loss !== undefined) {
      process.held = 0
      this.#db.refusedBecause = loss
      return true
    }
    this.#confirm(process, this.#raise(own))
    knowledge.imply(found)
    process.held = this.#server
    return true
  }

  #confirm({ knowledge, implies }: Process, raised: Mark): void {
    knowledge.release(raised)
    knowledge.learn([raised])
    for (const each of this.#db.revoked) implies.add(each)
  }

  /** As the statement of lineage/mark-rows.ts. */
  #raise(own: Own | undefined): Mark {
    const { marks, epochs } = this.#db
    const epoch = epochs.at(-1) ?? ''
    const stands = own && marks.get(own.id)
    const isRaised = this.#rules.raisesBlindly ? stands !== undefined : stands?.number === own?.number
    const [id, number] = own && stands && isRaised ? [own.id, stands.number + 1] : [`m${this.#now}-${marks.size}`, 1]
    marks.set(id, { number, at: this.#now })
    return { id, number, epoch, at: this.#now }
  }

  #find(known: readonly Mark[]): Found {
    const { marks, epochs, refusedBecause, forgottenUntil } = this.#db
    const shown = known.filter(({ id }) => marks.has(id)).map(({ id }) => [id, marks.get(id)?.number ?? 0])
    const numbers = Object.fromEntries(shown) as Record<string, number>
    const here = { place: 'p', currentPlace: 'p', targets: [] }
    return { epoch: epochs.at(-1) ?? '', epochs: [...epochs], refusedBecause, forgottenUntil, numbers, ...here }
  }

  #readFiles(p: number, { knowledge, implies, read }: Process): void {
    for (const file of this.#folders[p] ?? []) {
      if (read.has(file)) continue
      knowledge.learn(file.marks)
      for (const each of file.implies) implies.add(each)
      read.add(file)
    }
  }

  /** As lineage/witness.ts: a new file, and what was read goes. */
  #save(p: number, process: Process): true {
    for (const file of process.read) this.#folders[p]?.delete(file)
    process.read.clear()
    const file = { marks: process.knowledge.marks, implies: new Set(process.implies) }
    this.#folders[p]?.add(file)
    process.read.add(file)
    return true
  }

  /** Running processes raise all their marks meanwhile; then those of others are deleted by one that serves. */
  #passMonths(): boolean {
    this.#now += KEPT + DAY
    const serving = this.#processes.filter((each) => each !== undefined).filter(({ isRefusing }) => !isRefusing)
    for (const each of serving) for (let n = 0; n < 3; n++) this.#check(this.#processes.indexOf(each), each)
    if (serving.every(({ isRefusing }) => isRefusing)) return serving.length > 0
    for (const [id, { at }] of this.#db.marks) {
      if (at >= this.#now - KEPT) continue
      this.#db.marks.delete(id)
      this.#db.forgottenUntil = Math.max(this.#db.forgottenUntil, at)
    }
    // A restore is recognised for as long as marks are kept.
    return this.#excuse()
  }

  /** What is lost by now. */
  #excuse(): true {
    for (let each = 1; each <= this.#made; each++) if (!this.#db.revoked.has(each)) this.#excused.add(each)
    return true
  }
}

function copyOf({ marks, revoked, epochs, ...rest }: Database): Database {
  return { ...rest, marks: new Map(marks), revoked: new Set(revoked), epochs: [...epochs] }
}

export interface Played {
  readonly name: string
  /** A process accepts a token that it could know to be revoked. */
  readonly isWrong: boolean
  /** A process refuses everything, although nothing was restored. */
  readonly isRefused: boolean
}

/** Every sequence of so many events at most, which can happen, with and without a shared folder. */
export function* explore(length: number, rules: Rules = {}): Generator<Played> {
  for (const isShared of [false, true]) yield* follow([], length, isShared, rules)
}

function* follow(before: readonly Event[], length: number, isShared: boolean, rules: Rules): Generator<Played> {
  // The processes are alike, so the first of which something is said is always the same one.
  const isFirst = before.every((event) => !event.includes(' '))
  for (const event of EVENTS) {
    if (isFirst && event.endsWith(' 1')) continue
    const events = [...before, event]
    const played = play(events, isShared, rules)
    if (played === undefined) continue
    yield played
    if (events.length < length) yield* follow(events, length, isShared, rules)
  }
}

/** Undefined if it cannot happen. */
export function play(events: readonly Event[], isShared: boolean, rules: Rules = {}): Played | undefined {
  // Each process is asked in a world of its own, since one that refuses tells the other.
  const [first, second] = [new World(isShared, rules), new World(isShared, rules)]
  for (const event of events) if (!first.happen(event)) return undefined
  for (const event of events) second.happen(event)
  const verdicts = [first.verify(0), second.verify(1)]
  return {
    name: `${isShared ? 'with a shared folder: ' : ''}${events.join(', ')}`,
    isWrong: verdicts.includes('wrong'),
    isRefused: !first.wasRestored && verdicts.includes('refused'),
  }
}
