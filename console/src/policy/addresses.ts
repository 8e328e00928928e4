// Addresses and blocks of a policy, as the service reads them: to say what is wrong before it is sent, and to show what a
// sub-account takes away. The service decides.

/** An IPv4-mapped IPv6 address is its IPv4 address. */
export interface Block {
  readonly bits: 32 | 128
  readonly network: bigint
  readonly prefix: number
}

const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`)
const IPV6 = /^[0-9a-f:.]{2,45}$/i
const MAPPED = 0xffffn

const EXAMPLES = '203.0.113.7 or 2001:db8::1'
const NO_ADDRESS = `is not an address: write one such as ${EXAMPLES}, or a block such as 203.0.113.0/24`

interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

function readAddress(text: string): Address | undefined {
  if (IPV4.test(text)) return { bits: 32, value: toNumber(text.split('.'), 8n, 10) }
  const groups = IPV6.test(text) && text.includes(':') ? groupsOf(text) : undefined
  return groups && { bits: 128, value: toNumber(groups, 16n, 16) }
}

function toNumber(parts: readonly string[], bits: bigint, base: number): bigint {
  return parts.reduce((value, part) => (value << bits) | BigInt(Number.parseInt(part, base)), 0n)
}

/** All eight groups of an IPv6 address, which the browser reads as the host of an address on the web. */
function groupsOf(text: string): readonly string[] | undefined {
  const url = URL.parse(`http://[${text}]/`)
  if (url === null) return undefined
  const [left, right] = url.hostname.slice(1, -1).split('::').map(splitGroups)
  const [start, end] = [left ?? [], right ?? []]
  return [...start, ...new Array<string>(8 - start.length - end.length).fill('0'), ...end]
}

const splitGroups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))

/** A block, or the end of a sentence that says what is wrong. */
export function readBlock(text: string): Block | string {
  const slash = text.indexOf('/')
  const address = readAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === undefined) return NO_ADDRESS
  const written = slash < 0 ? String(address.bits) : text.slice(slash + 1)
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(written) || Number(written) > address.bits) {
    return `must have a whole number from 0 to ${address.bits} after the slash`
  }
  return toBlock(address, Number(written))
}

function toBlock({ bits, value }: Address, prefix: number): Block | string {
  if (bits === 128 && value >> 32n === MAPPED) {
    if (prefix < 96) return 'must have a number from 96 to 128 after the slash, because it stands for IPv4 addresses'
    return toBlock({ bits: 32, value: value & 0xffffffffn }, prefix - 96)
  }
  const free = BigInt(bits - prefix)
  const network = (value >> free) << free
  if (network === value) return { bits, network, prefix }
  return `is in the middle of its block: write ${format(bits, network)}/${prefix}, or the single address without a slash`
}

function format(bits: Block['bits'], value: bigint): string {
  const size = bits === 32 ? 8n : 16n
  const parts = Array.from(
    { length: bits === 32 ? 4 : 8 },
    (_, at) => (value >> (BigInt(at) * size)) & ((1n << size) - 1n),
  )
  if (bits === 32) return parts.toReversed().join('.')
  const groups = parts.toReversed().map((part) => part.toString(16))
  return URL.parse(`http://[${groups.join(':')}]/`)?.hostname.slice(1, -1) ?? groups.join(':')
}

export function addressProblem(text: string): string | undefined {
  const block = readBlock(text)
  return typeof block === 'string' ? block : undefined
}

/** Of a single address, as a request comes from. */
export const singleAddressProblem = (text: string): string | undefined =>
  readAddress(text) === undefined ? `must be one address, such as ${EXAMPLES}` : undefined

/** Whether one block has all addresses of another. Texts that are no blocks have none. */
export function coversAddress(wide: string, narrow: string): boolean {
  const [outer, inner] = [readBlock(wide), readBlock(narrow)]
  if (typeof outer === 'string' || typeof inner === 'string') return false
  if (outer.bits !== inner.bits || outer.prefix > inner.prefix) return false
  const free = BigInt(outer.bits - outer.prefix)
  return inner.network >> free === outer.network >> free
}
