// A primary, a standby, and the address that leads to whichever of them is the primary: real servers, and forwarders
// that stand for a virtual address and for the network between the two.
import { emptyDatabase } from '../support/postgres.ts'
import { PostgresServer } from '../support/postgres-server.ts'
import { removeFolder } from '../support/sqlite.ts'
import { Forwarder } from './forwarder.ts'

export type Mode = 'synchronous' | 'asynchronous'

export class Cluster {
  readonly #mode: Mode
  readonly #address: Forwarder
  readonly #replication: Forwarder
  readonly #database: string
  readonly #settings: Readonly<Record<string, string>>
  #primary: PostgresServer
  #standby: PostgresServer | undefined
  #former: PostgresServer | undefined

  private constructor(
    mode: Mode,
    forwarders: [Forwarder, Forwarder],
    database: string,
    primary: PostgresServer,
    settings: Readonly<Record<string, string>>,
  ) {
    this.#mode = mode
    this.#settings = settings
    this.#address = forwarders[0]
    this.#replication = forwarders[1]
    this.#database = database
    this.#primary = primary
  }

  static async start(mode: Mode, more: Readonly<Record<string, string>> = {}): Promise<Cluster> {
    const settings = { ...SETTINGS, ...more }
    const primary = await PostgresServer.start({ settings })
    const database = await emptyDatabase(primary)
    const cluster = new Cluster(mode, [await Forwarder.open(), await Forwarder.open()], database, primary, settings)
    await cluster.addStandby()
    return cluster
  }

  get url(): string {
    return this.urlAt(this.#address.port)
  }

  urlAt(port: number): string {
    return `postgres://postgres@127.0.0.1:${port}/${this.#database}`
  }

  get primaryPort(): number {
    return this.#primary.port
  }

  /** The standby is so far away: everything between the two arrives so much later, in either direction. */
  delayReplication(ms: number): void {
    this.#replication.delay(ms)
  }

  /** Stops the primary for a moment, and makes the standby of a copy of its files. */
  async addStandby(): Promise<void> {
    this.#address.lead(undefined)
    await this.#primary.stop()
    const copy = this.#primary.copyAsStandby()
    const names = this.#mode === 'synchronous' ? '*' : ''
    const { data, port } = this.#primary
    this.#primary = await PostgresServer.start({
      data,
      port,
      settings: { ...this.#settings, synchronous_standby_names: names },
    })
    this.#replication.lead(port)
    const primary = `host=127.0.0.1 port=${this.#replication.port} user=postgres`
    this.#standby = await PostgresServer.start({
      data: copy,
      settings: { ...this.#settings, primary_conninfo: primary },
    })
    const wanted = this.#mode === 'synchronous' ? 'sync' : 'async'
    for (;;) {
      const [row] = await this.#primary.query<{ sync_state: string; state: string }>(
        'postgres',
        'SELECT sync_state, state FROM pg_stat_replication',
      )
      if (row?.state === 'streaming' && row.sync_state === wanted) break
    }
    this.#address.lead(port)
  }

  /**
   * The network between the two fails a moment before the primary is killed with all its processes, as when a rack
   * loses its power. The address leads nowhere until `follow`.
   */
  async killPrimary(meanwhile: () => Promise<void>): Promise<void> {
    this.#replication.hold()
    await meanwhile()
    this.#primary.signal('SIGKILL')
    this.#address.lead(undefined)
    this.#replication.lead(undefined)
  }

  async promote(): Promise<void> {
    if (this.#standby === undefined) throw new Error('there is no standby')
    const former = this.#primary
    await this.#standby.query('postgres', 'SELECT pg_promote()')
    this.#primary = this.#standby
    this.#standby = undefined
    await former.stop()
    removeFolder(former.data)
  }

  /** The primary is cut off from the standby, which is promoted, and runs on at the address. */
  async promoteBeside(): Promise<void> {
    if (this.#standby === undefined) throw new Error('there is no standby')
    this.#replication.lead(undefined)
    await this.#standby.query('postgres', 'SELECT pg_promote()')
    this.#former = this.#primary
    this.#primary = this.#standby
    this.#standby = undefined
  }

  follow(): void {
    this.#address.lead(this.#primary.port)
  }

  /** The versions of all tokens, as the primary itself knows them. */
  async tokens(): Promise<ReadonlyMap<string, { readonly version: number; readonly status: string }>> {
    const rows = await this.#primary.query<{ id: string; version: string; status: string }>(
      this.#database,
      'SELECT id, version, status FROM tokens',
    )
    return new Map(rows.map(({ id, version, status }) => [id, { version: Number(version), status }]))
  }

  async remove(): Promise<void> {
    this.#address.close()
    this.#replication.close()
    await this.#standby?.remove()
    await this.#former?.remove()
    await this.#primary.remove()
  }
}

const SETTINGS = { wal_level: 'replica', max_wal_senders: '4', wal_keep_size: '256MB' }
