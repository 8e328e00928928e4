// Where a request comes from: the peer or, through trusted proxies, the rightmost address in X-Forwarded-For that is not one of them.
import { BlockList, isIPv6 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { formatAddress, parseAddress } from '../../tokens/verify/addresses.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Undefined where a trusted proxy names something that is no address. What is bound to addresses is then refused. */
    clientAddress: string | undefined
  }
}

/** For limits, the log and the history: where the client's address cannot be read, that of the proxy. */
export function addressOf({ clientAddress, ip: peer }: FastifyRequest): string {
  return clientAddress ?? peer
}

/** `trusted`: addresses and CIDR blocks. `onIgnored` is called where the header comes from a peer that is not trusted. */
export function clientAddressReader(trusted: readonly string[], onIgnored: (peer: string) => void) {
  const isTrusted = matcherOf(trusted)
  return ({ ip: peer, headers }: Pick<FastifyRequest, 'ip' | 'headers'>): string | undefined => {
    // Node.js joins several headers of this name.
    const forwarded = headers['x-forwarded-for'] as string | undefined
    if (forwarded === undefined) return peer
    if (!isTrusted(peer)) {
      onIgnored(peer)
      return peer
    }
    let nearest: string | undefined = peer
    for (const text of forwarded.split(',').reverse()) {
      if (text.trim() === '') continue
      nearest = readForwarded(text.trim())
      if (nearest === undefined || !isTrusted(nearest)) break
    }
    return nearest
  }
}

/** Some proxies add the port of the client: `203.0.113.7:1234`, `[2001:db8::1]:1234`. */
const IPV4_AND_PORT = /^([0-9.]+):[0-9]{1,5}$/
const IPV6_IN_BRACKETS = /^\[([0-9a-f:.]*:[0-9a-f:.]*)\](?::[0-9]{1,5})?$/i

function readForwarded(text: string): string | undefined {
  const address = (IPV4_AND_PORT.exec(text) ?? IPV6_IN_BRACKETS.exec(text))?.[1] ?? text
  return parseAddress(address) === undefined ? undefined : address
}

const withoutZone = (address: string) => address.replace(/%.*/, '')

function matcherOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4')
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return (text) => {
    const address = withoutZone(text)
    return parseAddress(address) !== undefined && list.check(address, familyOf(address))
  }
}

/** The /64 network of an IPv6 address: one caller usually has all 2⁶⁴ addresses of it. */
export function networkOf(text: string): string {
  const address = parseAddress(withoutZone(text))
  if (address === undefined) return text
  return address.length === 1 ? formatAddress(address) : `${formatAddress([...address.slice(0, 2), 0, 0])}/64`
}

/** Peers that are named in the log. Anybody can send the header, so what is logged has a bound. */
const MAX_NAMED_PEERS = 20

/** Calls `warn` once per network, for the first few. */
export function oncePerNetwork(warn: (peer: string) => void): (peer: string) => void {
  const named = new Set<string>()
  return (peer) => {
    const network = networkOf(peer)
    if (named.size >= MAX_NAMED_PEERS || named.has(network)) return
    named.add(network)
    warn(peer)
  }
}
