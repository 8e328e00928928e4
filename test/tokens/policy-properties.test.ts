// No token exceeds its sub-account's ceiling: random policies and requests against a slow oracle that shares no code with the
// policy. It never parses an address, because each text is written from a number, and it knows a scope as the set of all that
// it covers, in a universe small enough to list.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { decide, entryOf, readyEntry } from '../../src/tokens/verify/entry.ts'
import {
  type Access,
  effectiveScopes,
  judgePolicy,
  type Policies,
  type Policy,
  parsePolicy,
} from '../../src/tokens/verify/policy.ts'
import { judge } from '../../src/tokens/verify/verdict.ts'
import { runs } from '../support/runs.ts'
import { chances, SEED } from '../support/seed.ts'

const TRIPLES = runs(20_000, 1_000_000)

const next = chances('policy')
const below = (limit: number) => Math.floor(next() * limit)
const happens = (probability: number) => next() < probability
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item
const some = <Item>(max: number, one: () => Item): Item[] => Array.from({ length: below(max + 1) }, one)

// Addresses: a version of IP and a number.

interface Point {
  readonly version: 4 | 6
  readonly value: bigint
}

interface Range {
  readonly version: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

const BITS = { 4: 32, 6: 128 }
const MAPPED = { first: 0xffff_0000_0000n, last: 0xffff_ffff_ffffn }
const isMapped = ({ version, value }: Point) => version === 6 && value >= MAPPED.first && value <= MAPPED.last
const meaningOf = (point: Point): Point => (isMapped(point) ? { version: 4, value: point.value - MAPPED.first } : point)

const isInRange = (range: Range, { version, value }: Point) =>
  range.version === version && value >= range.first && value <= range.last

const dotted = (value: bigint) => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.')

const isZero = (group: string) => /^0+$/.test(group)

function writeIPv6(value: bigint): string {
  const groups = Array.from({ length: 8 }, (_, at) => ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16))
  const padded = groups.map((group) => (happens(0.2) ? group.padStart(4, '0') : group))
  const parts = happens(0.3) ? [...padded.slice(0, 6), dotted(value & 0xffff_ffffn)] : padded
  // The first run of zeros, which need not be the longest.
  const from = parts.findIndex(isZero)
  const end = parts.findIndex((part, at) => at > from && !isZero(part))
  const until = end < 0 ? parts.length : end
  const isShort = from >= 0 && happens(0.8)
  const text = isShort ? `${parts.slice(0, from).join(':')}::${parts.slice(until).join(':')}` : parts.join(':')
  return happens(0.2) ? text.toUpperCase() : text
}

/** An IPv4 address is also written as mapped, in all forms of IPv6. */
const writePoint = ({ version, value }: Point): string => {
  if (version === 6) return writeIPv6(value)
  return happens(0.6) ? dotted(value) : writeIPv6(MAPPED.first + value)
}

/** Numbers near which blocks and addresses lie; those of IPv6 include the edges of the mapped ones and IPv4's own numbers. */
const ANCHORS: readonly Point[] = [
  ...[0n, 0x0a00_0000n, 0x0a01_0200n, 0xc000_0280n, 0xffff_ffffn].map((value): Point => ({ version: 4, value })),
  ...[0n, 0x0a01_0200n, MAPPED.first - 1n, MAPPED.first, MAPPED.last, MAPPED.last + 1n, (1n << 128n) - 1n].map(
    (value): Point => ({ version: 6, value }),
  ),
  ...[0x2001_0db8n << 96n, (0x2001_0db8n << 96n) + (0xabcdn << 64n), 0xfe80n << 112n].map(
    (value): Point => ({ version: 6, value }),
  ),
]

const wrap = (value: bigint, bits: number) => BigInt.asUintN(bits, value)
const nearAnchor = (): Point => {
  const { version, value } = pick(ANCHORS)
  return { version, value: wrap(value + BigInt(below(9) - 4), BITS[version]) }
}

interface Block extends Range {
  readonly text: string
}

function newBlock({ version, value } = nearAnchor()): Block {
  const bits = BITS[version]
  const length = pick([0, 8, 16, bits / 2, 80, 95, 96, 97, 104, 120, bits - 3, bits - 1, bits].filter((l) => l <= bits))
  const size = 1n << BigInt(bits - length)
  const first = value - (value % size)
  const last = first + size - 1n
  if (isMapped({ version, value: first }) && length >= 96) return newBlock({ version: 4, value: first - MAPPED.first })
  const text = writePoint({ version, value: first })
  const written = text.includes(':') && version === 4 ? length + 96 : length
  const isSingle = length === bits && happens(0.5)
  return { version, first, last, text: isSingle ? text : `${text}/${written}` }
}

const BROKEN = [
  '',
  'unknown',
  '010.0.0.1',
  '10.1',
  '0x0a000001',
  'fe80::1%eth0',
  '10.1.2.0:80',
  '::ffff:10.1.2',
  '1::2::3',
]

/** Undefined where the address is unknown or no address. */
interface Presented {
  readonly text: string | undefined
  readonly point: Point | undefined
}

/** Mostly at the edges of a block. */
function newPresented(blocks: readonly Block[]): Presented {
  if (happens(0.06)) return { text: happens(0.3) ? undefined : pick(BROKEN), point: undefined }
  if (blocks.length === 0 || happens(0.15)) return present(nearAnchor())
  const { version, first, last } = pick(blocks)
  const inside = first + (BigInt(below(2 ** 30)) * (last - first)) / BigInt(2 ** 30)
  const value = pick([first, last, inside, inside, first - 1n, last + 1n])
  return present({ version, value: wrap(value, BITS[version]) })
}

const present = (point: Point): Presented => ({ text: writePoint(point), point: meaningOf(point) })

// Scopes: every one of up to three segments, empty ones included.

const SEGMENTS = ['a', 'b', 'ab', '']
const TWO_SEGMENTS = SEGMENTS.flatMap((one) => SEGMENTS.map((two) => `${one}:${two}`))
const UNIVERSE = [
  ...SEGMENTS,
  ...TWO_SEGMENTS,
  ...TWO_SEGMENTS.flatMap((two) => SEGMENTS.map((three) => `${two}:${three}`)),
].filter((scope) => scope !== '')
const PATTERNS = [...SEGMENTS, ...TWO_SEGMENTS].map((prefix) => `${prefix}:*`)

const EXPANSIONS = new Map([
  ...UNIVERSE.map((scope): [string, ReadonlySet<string>] => [scope, new Set([scope])]),
  ...PATTERNS.map((pattern): [string, ReadonlySet<string>] => {
    const form = new RegExp(`^${pattern.replace('*', '.+')}$`)
    return [pattern, new Set(UNIVERSE.filter((scope) => form.test(scope)))]
  }),
])
const EVERY: ReadonlySet<string> = new Set(UNIVERSE)
const NONE: ReadonlySet<string> = new Set()
const expand = (scopes: readonly string[]) =>
  scopes.map((scope) => EXPANSIONS.get(scope) ?? NONE).reduce((all, one) => (all === NONE ? one : all.union(one)), NONE)

// Policies and requests.

interface Plan {
  readonly scopes: readonly string[] | undefined
  readonly blocks: readonly Block[] | undefined
}

const newScope = () => (happens(0.5) ? pick(PATTERNS) : pick(UNIVERSE))

/** Shares members with the other policy, so that the two overlap. */
function newPlan(other?: Plan): Plan {
  const scope = () => (other?.scopes?.length && happens(0.5) ? pick(other.scopes) : newScope())
  const block = () => {
    if (!other?.blocks?.length || happens(0.3)) return newBlock()
    const { version, first, last } = pick(other.blocks)
    return newBlock({ version, value: pick([first, last]) })
  }
  const ranges = new Map(some(5, block).map((each) => [`${each.version} ${each.first} ${each.last}`, each]))
  return {
    scopes: happens(0.25) ? undefined : [...new Set(some(6, scope))],
    blocks: happens(0.4) ? undefined : [...ranges.values()],
  }
}

function toPolicy({ scopes, blocks }: Plan): Policy {
  return { ...(scopes && { scopes }), ...(blocks && { addresses: blocks.map(({ text }) => text) }) }
}

interface Triple {
  readonly token: Plan
  readonly subAccount: Plan
  readonly scopes: readonly (readonly string[])[] | undefined
  readonly address: Presented
}

function newTriple(): Triple {
  const subAccount = newPlan()
  const token = newPlan(subAccount)
  const covered = [...expand([...(token.scopes ?? []), ...(subAccount.scopes ?? [])])]
  const needed = () => (covered.length > 0 && happens(0.9) ? pick(covered) : pick(UNIVERSE))
  const alternative = () => [needed(), ...some(1, needed)]
  return {
    token,
    subAccount,
    scopes: happens(0.1) ? undefined : [alternative(), ...some(2, alternative)],
    address: newPresented([...(token.blocks ?? []), ...(subAccount.blocks ?? [])]),
  }
}

// The oracle.

const allowsAddress = ({ blocks }: Plan, { point }: Presented) =>
  blocks === undefined || (point !== undefined && blocks.some((block) => isInRange(block, point)))

const allowed = ({ scopes }: Plan): ReadonlySet<string> => (scopes === undefined ? EVERY : expand(scopes))

function oracle({ token, subAccount, scopes, address }: Triple): string {
  if (!allowsAddress(token, address)) return 'address by token'
  if (!allowsAddress(subAccount, address)) return 'address by sub-account'
  if (scopes === undefined) return 'allowed'
  const [ofToken, ofSubAccount] = [allowed(token), allowed(subAccount)]
  const within = scopes.filter((needed) => new Set(needed).isSubsetOf(ofToken))
  if (within.length === 0) return 'scope by token'
  const withinBoth = within.some((needed) => new Set(needed).isSubsetOf(ofSubAccount))
  return withinBoth ? 'allowed' : 'scope by sub-account'
}

/** Whether the sub-account alone would allow it. */
const isUnderCeiling = ({ subAccount, scopes, address }: Triple) =>
  allowsAddress(subAccount, address) &&
  (scopes === undefined || scopes.some((needed) => new Set(needed).isSubsetOf(allowed(subAccount))))

function checkEffective({ token, subAccount }: Triple, effective: readonly string[] | undefined): void {
  assert.equal(effective === undefined, token.scopes === undefined && subAccount.scopes === undefined)
  if (effective === undefined) return
  const covered = expand(effective)
  assert.equal(covered.symmetricDifference(allowed(token).intersection(allowed(subAccount))).size, 0)
  const sets = effective.map((scope) => expand([scope]))
  assert.ok(sets.every((set, at) => !sets.some((other, place) => place !== at && set.isSubsetOf(other))))
  // The place of each in the first policy that has scopes never falls.
  const order = (token.scopes ?? subAccount.scopes ?? []).map((scope) => expand([scope]))
  const minimal = order.filter((set) => !order.some((other) => other.isSupersetOf(set) && other.size > set.size))
  const places = sets.map((set) => minimal.findIndex((listed) => set.isSubsetOf(listed)))
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  )
}

/** The decision, after everything about it was compared with the oracle. */
function checkTriple(triple: Triple): string {
  const policies = {
    token: parsePolicy(JSON.stringify(toPolicy(triple.token)), 'token'),
    subAccount: parsePolicy(JSON.stringify(toPolicy(triple.subAccount)), 'sub-account'),
  }
  const { scopes, address } = triple
  const access = { ...(scopes && { scopes }), address: address.text }
  const refusal = judgePolicy(policies, access)
  assert.equal(remembered(policies, access), refusal?.reason)
  const decision = refusal === undefined ? 'allowed' : `${refusal.reason} by ${refusal.by}`
  assert.ok(decision !== 'allowed' || isUnderCeiling(triple), 'the sub-account does not allow this')
  assert.equal(decision, oracle(triple))
  checkEffective(triple, effectiveScopes(policies))
  return decision
}

/** What a verifier decides, to which the service sends the policies as text. */
function remembered(policies: Policies, access: Access): string | undefined {
  const token = {
    id: 'tok_1',
    subAccountId: 'sub_1',
    accountId: 'acc_1',
    version: 1,
    status: 'active',
    expiresAt: null,
  }
  const known = { token, policies: { ...policies, limits: [] }, retiresAt: null, tampered: undefined }
  const verdict = judge({ ...known, suspendedAt: null, lifetimeEndsAt: null }, 0)
  const decision = decide(readyEntry(JSON.parse(JSON.stringify(entryOf(verdict, 0)))), access)
  return decision.accepted ? undefined : decision.reason
}

const show = (triple: Triple) =>
  JSON.stringify(triple, (_, value) => (typeof value === 'bigint' ? String(value) : value))

describe('a token under the ceiling of its sub-account', () => {
  test(`is allowed exactly what both policies allow, in ${TRIPLES} random cases`, (t) => {
    const counts = new Map<string, number>()
    for (let done = 0; done < TRIPLES; done++) {
      const triple = newTriple()
      try {
        const decision = checkTriple(triple)
        counts.set(decision, (counts.get(decision) ?? 0) + 1)
      } catch (cause) {
        throw new Error(`SEED=${SEED}, case ${done}: ${show(triple)}`, { cause })
      }
    }
    const shares = [...counts].map(([decision, count]) => `${decision} ${((100 * count) / TRIPLES).toFixed(1)} %`)
    t.diagnostic(`${TRIPLES} cases: 0 beyond the ceiling, 0 disagreements; ${shares.join(', ')}; seed ${SEED}`)
    // A generator that hardly ever reaches a decision would prove nothing about it.
    assert.equal(counts.size, 5)
    for (const [decision, count] of counts) assert.ok(count > TRIPLES / 20, `${decision}: only ${count} of ${TRIPLES}`)
  })
})
