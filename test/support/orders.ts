// Every order of a few events in the life of a store: changes, crashes, copies, backups and restores. A model of a few lines says
// what may be accepted afterwards; what is explored is a store, or the pure part of one.
import assert from 'node:assert/strict'

const OF_TOKEN = ['off', 'on', 'delete', 'rotate', 'overlap', 'expire', 'rename'] as const
const OF_SUB_ACCOUNT = ['suspend', 'resume'] as const
export type TokenName = 'A' | 'B'
type TokenChange = (typeof OF_TOKEN)[number]
export type Change =
  | { readonly what: TokenChange; readonly token: TokenName }
  | { readonly what: (typeof OF_SUB_ACCOUNT)[number] }

const CHANGES: readonly Change[] = [
  ...(['A', 'B'] as const).flatMap((token) => OF_TOKEN.map((what) => ({ what, token }))),
  ...OF_SUB_ACCOUNT.map((what) => ({ what })),
]

/** What a crash leaves of a change that nobody got a response for; a change without `cut` was confirmed. */
export type Cut = 'no line' | 'half a line' | 'no commit'

export type Event =
  | { readonly kind: 'change'; readonly change: Change; readonly cut?: Cut }
  | { readonly kind: 'stop' | 'copy' | 'backup' | 'put back' | 'restore' }

export const nameOf = (event: Event) =>
  event.kind === 'change'
    ? [event.change.what, 'token' in event.change ? event.change.token : '', event.cut ?? ''].join(' ').trim()
    : event.kind

/** A token is accepted with its credential and the former ones. */
interface Token {
  readonly isOn: boolean
  readonly isExpired: boolean
  readonly name: string
  readonly credentials: readonly string[]
}

/** Without a token that was deleted. */
type State = { readonly [token in TokenName]?: Token } & { readonly isSuspended: boolean }

const newToken = (name: TokenName) => ({ isOn: true, isExpired: false, name, credentials: [credentialName(name, 0)] })
const start = (): State => ({ A: newToken('A'), B: newToken('B'), isSuspended: false })

/** The model: what a change does. `n` is its position in the sequence, which names what is new. The same object if it does nothing. */
function apply(state: State, change: Change, n: number): State {
  if (!('token' in change)) return changed(state, { isSuspended: change.what === 'suspend' })
  const { what, token } = change
  const { [token]: before, ...others } = state
  if (before === undefined) return state
  if (what === 'delete') return others
  return changed(state, { [token]: changed(before, EFFECTS[what](credentialName(token, n), before, n)) })
}

const EFFECTS: Readonly<
  Record<Exclude<TokenChange, 'delete'>, (now: string, before: Token, n: number) => Partial<Token>>
> = {
  off: () => ({ isOn: false }),
  on: () => ({ isOn: true }),
  expire: () => ({ isExpired: true }),
  rename: (_now, _before, n) => ({ name: nameAt(n) }),
  rotate: (now) => ({ credentials: [now] }),
  overlap: (now, { credentials }) => ({ credentials: [now, ...credentials] }),
}

function changed<Whole extends object>(before: Whole, part: Partial<Whole>): Whole {
  const isSame = Object.entries(part).every(([name, value]) => before[name as keyof Whole] === value)
  return isSame ? before : { ...before, ...part }
}

export const credentialName = (token: TokenName, n: number) => `${token}${n}`
export const nameAt = (n: number) => `renamed ${n}`

/** What can be seen of a store: the credentials that it accepts, sorted, and the names of its tokens. */
export interface Seen {
  readonly accepted: readonly string[]
  readonly names: readonly (string | undefined)[]
}

function seenOf({ A, B, isSuspended }: State): Seen {
  const live = [A, B].filter((token) => token?.isOn && !token.isExpired && !isSuspended)
  return { accepted: live.flatMap((token) => token?.credentials ?? []).sort(), names: [A?.name, B?.name] }
}

/** What is known of a store from the outside. */
interface Known {
  /** One state, and one more for each change without a response. */
  readonly possible: readonly State[]
  readonly isRestored: boolean
  readonly has: { readonly copy: boolean; readonly backup: boolean }
}

/** Undefined for an event that cannot happen, or that changes nothing. */
function knownAfter(known: Known, event: Event, n: number): Known | undefined {
  const { possible, has } = known
  switch (event.kind) {
    case 'change': {
      const after = possible.map((state) => apply(state, event.change, n))
      if (after.every((state, index) => state === possible[index])) return undefined
      return { ...known, possible: event.cut === undefined ? after : [...possible, ...after] }
    }
    case 'copy':
    case 'backup':
      return { ...known, has: { ...has, [event.kind]: true } }
    case 'put back':
      return has.copy ? { ...known, isRestored: true } : undefined
    case 'restore':
      return has.backup ? { ...known, isRestored: true } : undefined
    case 'stop':
      return known
  }
}

const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** After a restore, names are those of the copy; what is accepted never is. What was seen once holds from then on. */
function narrowed({ possible, ...known }: Known, seen: Seen): Known | undefined {
  const fits = possible.filter((state) => {
    const { accepted, names } = seenOf(state)
    return same(accepted, seen.accepted) && (known.isRestored || same(names, seen.names))
  })
  return fits.length === 0 ? undefined : { ...known, possible: fits }
}

/** A store, or what stands for one. A node is the state of its files. */
export interface Explored<Node> {
  after(node: Node, event: Event, n: number): Node | Promise<Node>
  /** Starts the store on a copy of the node. Undefined when it refuses everything. */
  see(node: Node): Seen | undefined | Promise<Seen | undefined>
  drop?(node: Node): void
}

export interface Limits {
  readonly events: number
  readonly cuts: readonly Cut[]
  readonly others: readonly Exclude<Event['kind'], 'change'>[]
  readonly wants?: Wants
}

/** Whether a sequence counts, or can still be continued to one that does with so many events more. */
type Wants = (sequence: readonly Event[], left: number) => boolean

/** Sequences with a restore, or that can still come to one: a copy or a backup comes before it. */
export const withRestore: Wants = (sequence, left) => {
  const has = (...kinds: readonly Event['kind'][]) => sequence.some(({ kind }) => kinds.includes(kind))
  return has('put back', 'restore') || left >= (has('copy', 'backup') ? 1 : 2)
}

export const withCrash: Wants = (sequence, left) =>
  left > 0 || sequence.some((event) => event.kind === 'change' && event.cut !== undefined)

/** Half a line after others counts as a journal that was cut short, unless the store that has the whole line is started first. */
function mayRefuse(sequence: readonly Event[]): boolean {
  const torn = sequence.findLastIndex((event) => event.kind === 'change' && event.cut === 'half a line')
  const since = torn < 0 ? [] : sequence.slice(torn + 1).filter(({ kind }) => kind !== 'copy')
  return since[0]?.kind === 'put back'
}

export interface Explorations {
  sequences: number
  refused: number
  /** What came out different from what the model allows. */
  readonly wrong: string[]
}

export async function explore<Node>(store: Explored<Node>, root: Node, limits: Limits): Promise<Explorations> {
  const { events: most, cuts, others, wants = () => true } = limits
  const events: readonly Event[] = [
    ...CHANGES.map((change) => ({ kind: 'change', change }) as const),
    ...cuts.flatMap((cut) => CHANGES.map((change) => ({ kind: 'change', change, cut }) as const)),
    ...others.map((kind) => ({ kind })),
  ]
  const found: Explorations = { sequences: 0, refused: 0, wrong: [] }
  const visit = async (node: Node, known: Known, sequence: readonly Event[]): Promise<void> => {
    const seen = await store.see(node)
    const fitting = seen && narrowed(known, seen)
    if (wants(sequence, 0)) found.sequences++
    if (seen === undefined && mayRefuse(sequence)) {
      found.refused++
    } else if (fitting === undefined) {
      found.wrong.push(`${sequence.map(nameOf).join(', ')}: ${seen === undefined ? 'refused' : JSON.stringify(seen)}`)
    }
    if (fitting === undefined || sequence.length === most) return
    for (const event of events) {
      const n = sequence.length + 1
      // A change starts the store: what is seen then holds. A copy or a restore does not.
      const after = knownAfter(event.kind === 'change' || event.kind === 'stop' ? fitting : known, event, n)
      const next = [...sequence, event]
      if (after === undefined || isMirrored(next) || !wants(next, most - n)) continue
      const child = await store.after(node, event, n)
      await visit(child, after, next)
      store.drop?.(child)
    }
  }
  await visit(root, { possible: [start()], isRestored: false, has: { copy: false, backup: false } }, [])
  return found
}

/** The two tokens are alike: the first one changed is A. */
function isMirrored(sequence: readonly Event[]): boolean {
  const first = sequence.find((event) => event.kind === 'change' && 'token' in event.change)
  return first?.kind === 'change' && 'token' in first.change && first.change.token === 'B'
}

export function requireNothingWrong({ sequences, wrong }: Explorations, atLeast: number): void {
  assert.deepEqual(wrong.slice(0, 5), [])
  assert.ok(sequences >= atLeast, `only ${sequences} sequences`)
}
