// Rate limits shared by all instances: one row per name, one statement per request, by the server's clock. The table is unlogged:
// no wait for the disk or a standby, but all limits are reset by a crash or a failover.
import { createHash } from 'node:crypto'
import type { RateLimit, RateLimiter } from '../../../tokens/trust/rate-limit.ts'
import type { Pool } from '../pool.ts'

const SWEEP_MS = 60_000

/** The same rule as `consume` of the domain. $1 is the name, $2 the milliseconds for one request, $3 those for all. */
const CLOCK = 'clock AS (SELECT (extract(epoch FROM statement_timestamp()) * 1000)::float8 AS now)'
const NOW = '(SELECT now FROM clock)'
/** Longer than any statement waits for its row, which another one with a later time may have written meanwhile. */
const MAX_LAG_MS = 10_000
/** A time later than any request sets is from before the clock was set back: the quota counts as full. */
const FULL_AT = `CASE WHEN r.full_at BETWEEN ${NOW} AND ${NOW} + $3::float8 + $2::float8 + ${MAX_LAG_MS}
  THEN r.full_at ELSE ${NOW} END`
const WAIT = `${FULL_AT} - ${NOW} - $3::float8 + $2::float8 / 2`

const ASK = `
  WITH ${CLOCK}
  SELECT greatest(${WAIT}, 0) AS wait_ms
  FROM clock LEFT JOIN rate_limits r ON r.name = $1`

const TAKE = `
  WITH ${CLOCK}, taken AS (
    INSERT INTO rate_limits AS r (name, full_at) SELECT $1, now + $2::float8 FROM clock
    ON CONFLICT (name) DO UPDATE SET full_at = ${FULL_AT} + $2::float8 WHERE ${WAIT} <= 0
    RETURNING 1)
  SELECT CASE WHEN EXISTS (SELECT FROM taken) THEN 0 ELSE greatest(${WAIT}, 1) END AS wait_ms
  FROM clock LEFT JOIN rate_limits r ON r.name = $1`

const SWEEP = 'DELETE FROM rate_limits WHERE full_at < extract(epoch FROM statement_timestamp()) * 1000'

export class PostgresLimiter implements RateLimiter {
  readonly #pool: Pool
  #sweptAt = performance.now()

  constructor(pool: Pool) {
    this.#pool = pool
  }

  take(name: string, limit: RateLimit): Promise<number> {
    this.#sweep()
    return this.#ask(TAKE, name, limit)
  }

  wait(name: string, limit: RateLimit): Promise<number> {
    return this.#ask(ASK, name, limit)
  }

  /** Names are stored as digests: short enough for an index, whatever their length. */
  async #ask(sql: string, name: string, { count, perMs }: RateLimit): Promise<number> {
    const digest = createHash('sha256').update(name).digest()
    // Names, instead of accounts, take turns for a connection.
    const row = await this.#pool.lend(name, (db) => db.get<{ wait_ms: number }>(sql, digest, perMs / count, perMs))
    return row?.wait_ms ?? perMs
  }

  /** In the background. If it fails, the rows are removed the next time. */
  #sweep(): void {
    if (performance.now() - this.#sweptAt < SWEEP_MS) return
    this.#sweptAt = performance.now()
    this.#pool.lend('', (db) => db.run(SWEEP)).catch(() => {})
  }
}
