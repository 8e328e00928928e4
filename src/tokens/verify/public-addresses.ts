// Which addresses are public: those that anybody on the internet could reach as well. Requests to others, in the name of somebody
// who only gives an address, would reach what this machine alone can reach.
import { type Address, type Block, containsAddress, parseBlock } from './addresses.ts'

/** By the registries of special-purpose addresses (RFC 6890 and its updates), multicast included; and the host of Azure's machines. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
].map(blockOf)

/** All that is assigned to the internet, */
const GLOBAL_IPV6 = blockOf('2000::/3')
/** without protocols of their own (Teredo included), documentation, and 6to4, which ends at an IPv4 address. */
const SPECIAL_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map(blockOf)

function blockOf(text: string): Block {
  const block = parseBlock(text)
  if (typeof block === 'string') throw new Error(`${text} ${block}`)
  return block
}

/** An IPv4-mapped address is its IPv4 address. Addresses that are translated into IPv4, as by NAT64, are not public. */
export function isPublicAddress(address: Address): boolean {
  const isIn = (block: Block) => containsAddress(block, address)
  if (address.length === 1) return !SPECIAL_IPV4.some(isIn)
  return isIn(GLOBAL_IPV6) && !SPECIAL_IPV6.some(isIn)
}
