// What is asked: the requests of each workload over one estate. Accounts and pages follow Zipf's law.
import { listRequest, type SampledAccount, type SampledToken, type Scope, TOKEN } from './estate.ts'
import { bearer, get, withBody } from './requests.ts'
import { changes, drawByZipf, type Part, type Script } from './script.ts'

const FIRST_PAGES = 10
const LIMIT = 10
/** Tokens of each account that are changed, and never verified or fetched: their state is the writers' business. */
const CHANGED_SHARE = 0.05
const FEWEST_CHANGED = 40
const LISTS_PER_ACCOUNT = 2_000
const MOST_MATCHES = 100
const FEWEST_MATCHES = 5

/** `wall` and `growth` are the most that is allowed. A `reads` workload asks again for what it has asked for, and changes
 * nothing: what a first time costs is measured apart. */
const reading = { connections: 16, reads: true, growth: 1.25 }

export const WORKLOADS = [
  { ...reading, name: 'verify', title: 'verify, different credentials', wall: 1.8 },
  { ...reading, name: 'list', title: 'list, first pages', wall: 3.6 },
  { ...reading, name: 'list-sub', title: 'list by sub-account', wall: 3.6 },
  { ...reading, name: 'list-status', title: 'list by status', wall: 3.6 },
  { ...reading, name: 'list-both', title: 'list by both', wall: 3.6 },
  { ...reading, name: 'get', title: 'get one', wall: 3 },
  { ...reading, name: 'search', title: 'search, 3 or more characters', wall: 8, growth: 2 },
  { ...reading, name: 'put', title: 'PUT, durable', connections: 64, reads: false, wall: 8 },
  { ...reading, name: 'mix', title: 'mix 70/20/5/3/2', reads: false, wall: 4.5 },
] as const

export type Workload = (typeof WORKLOADS)[number]
export type WorkloadName = Workload['name']
export type Scripts = Readonly<Record<WorkloadName, Script>>

/** Every workload's script for one estate. */
export function buildScripts(accounts: readonly SampledAccount[]): Scripts {
  const verify: Part = {
    share: 1,
    status: 204,
    groups: accounts.map(({ tokens }) =>
      readable(tokens)
        .filter(({ status }) => status === 'active')
        .map(({ token }) => get('/api/v1/verify', bearer(token))),
    ),
  }
  const list = listing(accounts, ({ total }) => [{ query: '', total }])
  const one: Part = {
    share: 1,
    status: 200,
    groups: accounts.map(({ key, tokens }) => readable(tokens).map(({ _id }) => get(`${TOKEN}/${_id}`, bearer(key)))),
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
      return listRequest(account.key, `page=${page}&limit=${LIMIT}${query === '' ? '' : `&${query}`}`)
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
    return terms.map((term) => listRequest(key, `search=${encodeURIComponent(term)}`))
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

function changing(accounts: readonly SampledAccount[], half: 0 | 1): Part {
  return changes(
    accounts.map(({ key, tokens }) => {
      const changed = tokens.slice(0, changedOf(tokens)).filter((_, i) => i % 2 === half)
      return changed.map(({ _id, name, status }) => {
        const put = (body: object) => withBody('PUT', `${TOKEN}/${_id}`, bearer(key), body)
        const other = status === 'active' ? 'inactive' : 'active'
        return {
          names: [put({ name: `${name} renamed` }), put({ name })],
          states: [put({ status: other }), put({ status })],
        }
      })
    }),
  )
}
