// Several instances of the service, as real processes, on one PostgreSQL.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Cli, Servers } from '../support/cli.ts'
import { emptyDatabase, sharedServer } from '../support/postgres.ts'
import type { Postgres } from '../support/postgres-server.ts'
import { makeTargetsIn, type Targets } from '../support/targets.ts'

const INSTANCES = 4
const CUT_EVERY_MS = 50

export class Instances {
  readonly #cli = new Cli()
  readonly #server: Postgres
  readonly #database: string
  readonly env: Readonly<Record<string, string>>

  private constructor(server: Postgres, database: string) {
    this.#server = server
    this.#database = database
    const masterKey = randomBytes(32).toString('base64')
    this.env = { DATABASE_URL: server.url(database), LATCHKEY_MASTER_KEY: masterKey, PORT: '0', LOG_LEVEL: 'fatal' }
  }

  static async prepare(): Promise<Instances> {
    const server = await sharedServer()
    return new Instances(server, await emptyDatabase(server))
  }

  /** An account with tokens that are all active and at their first version. */
  estate(count: number): Promise<Targets> {
    return makeTargetsIn(this.env, count)
  }

  start(): Servers {
    return new Servers(INSTANCES, () => this.#cli.spawn(['serve'], this.env))
  }

  /** The positive control: a cache with a time to live before the store. */
  startWithCache(): Servers {
    return new Servers(INSTANCES, () => this.#cli.spawnScript(join(import.meta.dirname, 'ttl-server.ts'), this.env))
  }

  /** Ends one connection of the service after the other for as long as `work` takes; tells how many. */
  async cutting<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly cuts: number }> {
    let cuts = 0
    let working = true
    const cutter = (async () => {
      while (working) {
        const ended = await this.#server.query(
          this.#database,
          `SELECT pg_terminate_backend(pid) FROM (
             SELECT pid FROM pg_stat_activity WHERE datname = $1 AND application_name = 'latchkey'
             ORDER BY random() LIMIT 2
           ) AS chosen`,
          [this.#database],
        )
        cuts += ended.length
        await pause(CUT_EVERY_MS)
      }
    })()
    try {
      return { result: await work(), cuts }
    } finally {
      working = false
      await cutter
    }
  }

  async dispose(): Promise<void> {
    this.#cli.dispose()
    await this.#server.query('postgres', `DROP DATABASE "${this.#database}" WITH (FORCE)`)
  }
}
