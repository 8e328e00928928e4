// A PostgreSQL of its own for the benchmark, durable as in production, ended with this process.
import { PostgresServer } from '../test/support/postgres-server.ts'

const settings = { fsync: 'on', full_page_writes: 'on', shared_buffers: '512MB', max_connections: '60' }
const server = await PostgresServer.start({ settings })
for (const name of ['small', 'large']) await server.query('postgres', `CREATE DATABASE ${name} ENCODING UTF8`)
console.log(`PostgreSQL is ready at http://127.0.0.1:${server.port}`)
const alive = setInterval(() => {}, 60_000)
process.once('SIGTERM', async () => {
  clearInterval(alive)
  await server.remove()
  process.exit(0)
})
