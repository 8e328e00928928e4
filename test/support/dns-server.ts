// A name server on the loopback interface, which knows the addresses that a test says, and is silent about some names.
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const [TYPE_A, TYPE_AAAA] = [1, 28]
const NAME_ERROR = 3

/** Addresses; `silent` for no answer at all. A name that is missing does not exist. */
export type Zone = Record<string, readonly string[] | 'silent'>

export class DnsServer {
  readonly zone: Zone
  readonly asked: string[] = []
  readonly #socket: Socket

  private constructor(zone: Zone) {
    this.zone = zone
    this.#socket = createSocket('udp4', (message, from) => this.#answer(message, from))
  }

  static async start(zone: Zone): Promise<DnsServer> {
    const server = new DnsServer(zone)
    await new Promise<void>((resolve) => server.#socket.bind(0, '127.0.0.1', resolve))
    return server
  }

  get address(): string {
    return `127.0.0.1:${(this.#socket.address() as AddressInfo).port}`
  }

  async until(isEnough: (asked: readonly string[]) => boolean): Promise<void> {
    while (!isEnough(this.asked)) await pause(1)
  }

  close(): void {
    this.#socket.close()
  }

  #answer(message: Buffer, { port, address }: RemoteInfo): void {
    const { name, type, end } = questionOf(message)
    this.asked.push(name)
    const known = this.zone[name]
    if (known === 'silent') return
    const wanted = (known ?? []).filter((each) => (each.includes(':') ? TYPE_AAAA : TYPE_A) === type)
    const header = Buffer.from(message.subarray(0, 12))
    header.writeUInt16BE(0x8180 | (known === undefined ? NAME_ERROR : 0), 2)
    header.writeUInt16BE(wanted.length, 6)
    header.fill(0, 8)
    const records = wanted.map((each) => recordOf(each, type))
    this.#socket.send(Buffer.concat([header, message.subarray(12, end), ...records]), port, address)
  }
}

function questionOf(message: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 }
}

/** The name is that of the question; valid for no time at all. */
function recordOf(address: string, type: number): Buffer {
  const data = address.includes(':') ? groupsOf(address) : Buffer.from(address.split('.').map(Number))
  const record = Buffer.alloc(12)
  record.writeUInt16BE(0xc00c, 0)
  record.writeUInt16BE(type, 2)
  record.writeUInt16BE(1, 4)
  record.writeUInt16BE(data.length, 10)
  return Buffer.concat([record, data])
}

function groupsOf(address: string): Buffer {
  const [start = '', end = ''] = address.split('::')
  const [left, right] = [start, end].map((half) => half.split(':').filter((group) => group !== ''))
  const omitted = new Array<string>(8 - (left?.length ?? 0) - (right?.length ?? 0)).fill('0')
  const groups = [...(left ?? []), ...omitted, ...(right ?? [])]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
