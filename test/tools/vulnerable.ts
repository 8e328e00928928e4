// The positive control: a server that does what must not be done, so that a tool which finds nothing here finds nothing
// anywhere.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'

export async function serveVulnerable<Result>(work: (url: string) => Promise<Result>): Promise<Result> {
  const db = new DatabaseSync(':memory:')
  db.exec(`CREATE TABLE tokens (id TEXT, name TEXT); INSERT INTO tokens VALUES ('1', 'one'), ('2', 'two')`)
  const server = createServer((request, response) => {
    const search = new URL(request.url ?? '/', 'http://x').searchParams.get('search') ?? ''
    response.setHeader('content-type', 'application/json')
    try {
      response.end(JSON.stringify(db.prepare(`SELECT * FROM tokens WHERE name LIKE '%${search}%'`).all()))
    } catch (error) {
      response.writeHead(500).end(JSON.stringify({ error: String(error) }))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.closeAllConnections()
    server.close()
    db.close()
  }
}
