// Whether statements are prepared once per connection, under a name. Behind a transaction pooler a statement may run on another
// connection than the one it was prepared on: names are then no longer used.
import pg from 'pg'

const UNKNOWN_STATEMENT = '26000'
const STATEMENT_EXISTS = '42P05'
/** The answer of some poolers to an unknown name. */
const PROTOCOL_VIOLATION = '08P01'

export class StatementNames {
  readonly #warn: (warning: string) => void
  #inUse: boolean

  constructor(inUse: boolean, warn: (warning: string) => void = () => {}) {
    this.#inUse = inUse
    this.#warn = warn
  }

  get inUse(): boolean {
    return this.#inUse
  }

  /** To be called with every error of a named statement, before the retry. */
  notice(error: unknown): void {
    const { code = '' } = error instanceof pg.DatabaseError ? error : {}
    if (!this.#inUse || ![UNKNOWN_STATEMENT, STATEMENT_EXISTS, PROTOCOL_VIOLATION].includes(code)) return
    this.#inUse = false
    this.#warn(
      `A prepared statement was lost (SQLSTATE ${code}): DATABASE_URL leads to a transaction pooler. From now on ` +
        'statements are sent without names; set LATCHKEY_PG_PREPARED=off.',
    )
  }
}

export const UNNAMED = new StatementNames(false)
