// The peers: started on stores of their own, of the large estate's size, and asked for their own equivalents.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Shape } from './estate.ts'
import { Server } from './server.ts'
import type { Scripts } from './workloads.ts'

export interface Peer {
  readonly name: string
  readonly title: string
  /** How many times its processor time Latchkey should at least save. */
  readonly ahead: number
  readonly server: Server
  readonly scripts: Partial<Scripts>
}

const PEERS = [
  { name: 'better-auth', title: "better-auth's API-key plugin", ahead: 20 },
  { name: 'express', title: 'Express, Kysely, COUNT and OFFSET', ahead: 5 },
]

export async function startPeers(folder: string, { accounts, subAccounts, tokens }: Shape): Promise<Peer[]> {
  const home = join(folder, `compared-${accounts}x${subAccounts}x${tokens}`)
  mkdirSync(home, { recursive: true })
  const peers: Peer[] = []
  for (const peer of PEERS) {
    const program = join(import.meta.dirname, 'peers', `${peer.name}.mjs`)
    const args = [program, home, ...[accounts, subAccounts, tokens].map(String)]
    const server = await Server.start({ name: peer.name, args })
    const scripts = JSON.parse(readFileSync(join(home, `${peer.name}.json`), 'utf8')) as Partial<Scripts>
    peers.push({ ...peer, server, scripts })
  }
  return peers
}
