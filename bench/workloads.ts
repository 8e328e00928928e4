// What is asked: the requests of each workload over one estate. Accounts and pages follow Zipf's law.
import type { Part, Script } from './client.ts'
import type { SampledAccount, SampledToken, Scope } from './estate.ts'
import { get, put } from './requests.ts'

const TOKEN = '/api/v1/apiClient/token'
const FIRST_PAGES = 10
const LIMIT = 10
/** Tokens of each account that are changed, and never verified or fetched: their state is the writers' business. */
const CHANGED_SHARE = 0.05
const FEWEST_CHANGED = 40
const LISTS_PER_ACCOUNT = 2_000
const MOST_MATCHES = 100
const FEWEST_MATCHES = 5

export type WorkloadName =
  | 'verify'
  | 'list'
  | 'list-sub'
  | 'list-status'
  | 'list-both'
  | 'get'
  | 'search'
  | 'put'
  | 'mix'

export interface Workload {
  readonly name: WorkloadName
  readonly title: string
  readonly connections: number
  /** Asks again for what it has asked for, and changes nothing: what a first time costs is measured apart. */
  readonly repeats: boolean
  /** The most that is allowed against the wall, and of growth; undefined: only reported. */
  readonly wall: number | undefined
  readonly growth: number | undefined
}

export const WORKLOADS: readonly Workload[] = [
  { name: 'verify', title: 'verify, different credentials', connections: 16, repeats: true, wall: 1.8, growth: 1.25 },
  { name: 'list', title: 'list, first pages', connections: 16, repeats: true, wall: 2.6, growth: 1.25 },
  { name: 'list-sub', title: 'list by sub-account', connections: 16, repeats: true, wall: 2.6, growth: 1.25 },
  { name: 'list-status', title: 'list by status', connections: 16, repeats: true, wall: 2.6, growth: 1.25 },
  { name: 'list-both', title: 'list by both', connections: 16, repeats: true, wall: 2.6, growth: 1.25 },
  { name: 'get', title: 'get one', connections: 16, repeats: true, wall: 3, growth: 1.25 },
  { name: 'search', title: 'search, 3 or more characters', connections: 16, repeats: true, wall: 8, growth: 2 },
  { name: 'put', title: 'PUT, durable', connections: 64, repeats: false, wall: 8, growth: 1.25 },
  { name: 'mix', title: 'mix 70/20/5/3/2', connections: 16, repeats: false, wall: 3.2, growth: 1.25 },
]

export type Scripts = Readonly<Record<WorkloadName, Script>>

/** Every workload's script for one estate. */
export function buildScripts(accounts: readonly SampledAccount[]): Scripts {
  const verify: Part = {
    share: 1,
    status: 204,
    groups: accounts.map(({ tokens }) =>
      readable(tokens)
        .filter(({ status }) => status === 'active')
        .map(({ token }) => get('/api/v1/verify', token)),
    ),
  }
  const list = listing(accounts, ({ total }) => [{ query: '', total }])
  const one: Part = {
    share: 1,
    status: 200,
    groups: accounts.map(({ key, tokens }) => readable(tokens).map(({ _id }) => get(`${TOKEN}/${_id}`, key))),
  }
  const search = searching(accounts)
  // The mix changes other tokens: a change that was made already would be none.
  const [change, changeInMix] = [changing(accounts, 0), changing(accounts, 1)]
  return {
    verify: [verify],
    list: [list],
    'list-sub': [listing(accounts, ({ subAccounts }) => subAccounts)],
    'list-status': [listing(accounts, ({ statuses }) => statuses)],
    'list-both': [listing(accounts, ({ both }) => both)],
    get: [one],
    search: [search],
    put: [change],
    mix: [
      { ...verify, share: 0.7 },
      { ...list, share: 0.2 },
      { ...one, share: 0.05 },
      { ...search, share: 0.03 },
      { ...changeInMix, share: 0.02 },
    ],
  }
}

const changedOf = (tokens: readonly SampledToken[]) =>
  Math.max(FEWEST_CHANGED, Math.floor(tokens.length * CHANGED_SHARE))
const readable = (tokens: readonly SampledToken[]) => tokens.slice(changedOf(tokens))

/** Only full pages: an answer of another length would be another workload. */
function listing(accounts: readonly SampledAccount[], scopesOf: (account: SampledAccount) => readonly Scope[]): Part {
  const groups = accounts.map((account) => {
    const scopes = scopesOf(account).filter(({ total }) => total >= LIMIT)
    return Array.from({ length: LISTS_PER_ACCOUNT }, () => {
      const { query, total } = scopes[drawByZipf(scopes.length)] ?? { query: '', total: 0 }
      const page = 1 + drawByZipf(Math.min(FIRST_PAGES, Math.floor(total / LIMIT)))
      return get(`${TOKEN}?page=${page}&limit=${LIMIT}${query === '' ? '' : `&${query}`}`, account.key)
    })
  })
  return { share: 1, status: 200, groups }
}

/**
 * Terms that match at most a hundred tokens, thousands of them. In a small account any piece of a name that enough names
 * contain; in a large one as many digits of the numbers in its names as make them rare.
 */
function searching(accounts: readonly SampledAccount[]): Part {
  const groups = accounts.map(({ key, total, tokens }) => {
    const terms =
      total <= MOST_MATCHES ? piecesOf(tokens) : digitsOf(tokens, Math.max(3, Math.floor(Math.log10(total)) - 1))
    if (terms.length === 0) throw new Error('no search has the wanted number of matches')
    return terms.map((term) => get(`${TOKEN}?search=${encodeURIComponent(term)}`, key))
  })
  return { share: 1, status: 200, groups }
}

function piecesOf(tokens: readonly SampledToken[]): string[] {
  const counts = new Map<string, number>()
  for (const { name } of tokens) {
    const characters = [...name.toLowerCase()]
    const pieces = new Set<string>()
    for (let length = 3; length <= 8; length++) {
      for (let at = 0; at + length <= characters.length; at++) pieces.add(characters.slice(at, at + length).join(''))
    }
    for (const piece of pieces) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  }
  const found = [...counts].filter(([piece, count]) => count >= FEWEST_MATCHES && piece.trim() === piece)
  return found.map(([piece]) => piece)
}

function digitsOf(tokens: readonly SampledToken[], count: number): string[] {
  const runs = tokens.flatMap(({ name }) => name.match(new RegExp(`[0-9]{${count}}`)) ?? [])
  return [...new Set(runs)]
}

/** Four of five change the status, the fifth the name; each change undoes the one before. */
function changing(accounts: readonly SampledAccount[], half: 0 | 1): Part {
  const groups = accounts.map(({ key, tokens }) =>
    halfOf(tokens.slice(0, changedOf(tokens)), half).flatMap(({ _id, name, status }, i) => {
      const other = status === 'active' ? 'inactive' : 'active'
      const bodies = i % 5 === 0 ? [{ name: `${name} renamed` }, { name }] : [{ status: other }, { status }]
      return bodies.map((body) => put(`${TOKEN}/${_id}`, key, body))
    }),
  )
  return { share: 1, status: 200, groups, inPairs: true }
}

const halfOf = <Item>(items: readonly Item[], half: 0 | 1) => items.filter((_, i) => i % 2 === half)

function drawByZipf(n: number): number {
  let total = 0
  for (let i = 1; i <= n; i++) total += 1 / i
  let point = Math.random() * total
  for (let i = 1; i <= n; i++) {
    point -= 1 / i
    if (point <= 0) return i - 1
  }
  return n - 1
}

/**
 * Requests as the load would draw them, for asking beforehand what their answers are. Of pairs, by default those that
 * change nothing as long as the others were not sent.
 */
export function drawRequests(script: Script, count: number, turn: 0 | 1 = 1): string[] {
  return Array.from({ length: count }, () => {
    const place = Math.random()
    let below = 0
    const part = script.find(({ share }) => {
      below += share
      return place < below
    })
    const group = part?.groups[drawByZipf(part.groups.length)] ?? []
    const at = Math.floor(Math.random() * group.length)
    return group[part?.inPairs ? at - (at % 2) + turn : at] ?? ''
  })
}
