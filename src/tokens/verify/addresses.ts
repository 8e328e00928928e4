// IP addresses and CIDR blocks of a policy. Strict on purpose: programs read `010.0.0.1` or `10.1` in different ways, so a
// block written like that would protect another network than the one meant. Without node:net, which the domain does not import.

/** Words of 32 bits: one for IPv4, four for IPv6. An IPv4-mapped IPv6 address is its IPv4 address. */
export type Address = readonly number[]

/** An IPv6 block never contains an IPv4 address, not even `::/0`. */
export interface Block {
  readonly network: Address
  readonly mask: Address
}

const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])'
/** Also as a socket for both versions of IP shows it; parsing that as IPv6 gives the same address in five times the time. */
const IPV4 = new RegExp(`^(?:::ffff:)?${OCTET}\\.${OCTET}\\.${OCTET}\\.${OCTET}$`)
const GROUP = /^[0-9a-f]{1,4}$/i
const PREFIX_LENGTH = /^(?:0|[1-9][0-9]{0,2})$/

/** Of an IPv6 address that ends like an IPv4 address. Checked first, so that a long text costs no time. */
const MAX_ADDRESS_CHARACTERS = 45

/** Undefined for any other text. A zone, as in `fe80::1%eth0`, is refused: a block cannot say which link is meant. */
export function parseAddress(text: string): Address | undefined {
  if (text.length > MAX_ADDRESS_CHARACTERS) return undefined
  const words = parseIPv4(text) ?? parseIPv6(text)
  return words?.[0] === 0 && words[1] === 0 && words[2] === 0xffff ? words.slice(3) : words
}

function parseIPv4(text: string): Address | undefined {
  const octets = IPV4.exec(text)
  if (octets === null) return undefined
  return [(Number(octets[1]) << 24) | (Number(octets[2]) << 16) | (Number(octets[3]) << 8) | Number(octets[4])]
}

function parseIPv6(text: string): Address | undefined {
  const [start = '', end, ...more] = withHexadecimalEnd(text).split('::')
  const [left, right] = [splitGroups(start), splitGroups(end ?? '')]
  const omitted = 8 - left.length - right.length
  // `::` stands for at least one group.
  if (more.length > 0 || (end === undefined ? omitted !== 0 : omitted < 1)) return undefined
  const groups = [...left, ...new Array<string>(omitted).fill('0'), ...right]
  if (!groups.every((group) => GROUP.test(group))) return undefined
  const numbers = groups.map((group) => Number.parseInt(group, 16))
  return [0, 2, 4, 6].map((at) => ((numbers[at] ?? 0) << 16) | (numbers[at + 1] ?? 0))
}

const splitGroups = (text: string): string[] => (text === '' ? [] : text.split(':'))

const toGroups = (word: number): string[] => [(word >>> 16).toString(16), (word & 0xffff).toString(16)]

/** `::ffff:1.2.3.4` as `::ffff:102:304`; any other text as it is. */
function withHexadecimalEnd(text: string): string {
  if (!text.includes('.')) return text
  const last = text.lastIndexOf(':') + 1
  const [word] = parseIPv4(text.slice(last)) ?? []
  return word === undefined ? text : text.slice(0, last) + toGroups(word).join(':')
}

/** From a CIDR block or a single address; otherwise the end of a sentence that says what is wrong. */
export function parseBlock(text: string): Block | string {
  const slash = text.indexOf('/')
  const addressText = slash < 0 ? text : text.slice(0, slash)
  const network = parseAddress(addressText)
  if (network === undefined) {
    return 'must be an IPv4 or IPv6 address or CIDR block, such as 203.0.113.0/24 or 2001:db8::/32'
  }
  const bits = 32 * network.length
  const writtenBits = addressText.includes(':') ? 128 : 32
  const written = slash < 0 ? String(writtenBits) : text.slice(slash + 1)
  if (!PREFIX_LENGTH.test(written) || Number(written) > writtenBits) {
    return `must have a prefix length from 0 to ${writtenBits}`
  }
  const length = Number(written) - (writtenBits - bits)
  if (length < 0) return 'must have a prefix length from 96 to 128, because it is an IPv4-mapped block'
  const mask = network.map((_, at) => toMask(length - 32 * at))
  const masked = network.map((word, at) => word & (mask[at] ?? 0))
  if (masked.some((word, at) => word !== network[at])) {
    return `has bits set after its prefix; its network is ${formatAddress(masked)}/${length}`
  }
  return { network, mask }
}

/** A word that begins with so many ones. */
const toMask = (ones: number): number => (ones <= 0 ? 0 : ones >= 32 ? -1 : -1 << (32 - ones))

export function containsAddress({ network, mask }: Block, address: Address): boolean {
  if (network.length !== address.length) return false
  for (let at = 0; at < network.length; at++) {
    if (((address[at] ?? 0) & (mask[at] ?? 0)) !== network[at]) return false
  }
  return true
}

export function formatBlock({ network, mask }: Block): string {
  const ones = mask.reduce((sum, word) => sum + 32 - (word === 0 ? 32 : Math.log2(-word)), 0)
  return `${formatAddress(network)}/${ones}`
}

/** Whether one block has all addresses of another. */
export function containsBlock(wide: Block, narrow: Block): boolean {
  return (
    wide.mask.every((word, at) => (word & (narrow.mask[at] ?? 0)) === word) && containsAddress(wide, narrow.network)
  )
}

/** The longest run of zero groups is `::` (RFC 5952). */
export function formatAddress(words: Address): string {
  const [first = 0, ...others] = words
  if (others.length === 0) return [first >>> 24, (first >>> 16) & 0xff, (first >>> 8) & 0xff, first & 0xff].join('.')
  const text = words.flatMap(toGroups).join(':')
  const longest = [...text.matchAll(/\b0(?::0)+\b/g)].reduce(
    (found, [run]) => (run.length > found.length ? run : found),
    '',
  )
  return longest === '' ? text : text.replace(new RegExp(`(?:^|:)\\b${longest}\\b(?::|$)`), '::')
}
