// Whether statements are prepared once on a connection, under a name. A pooler that lends its connections by the
// transaction runs a statement on another connection than the one that it was prepared on: names are then given up.
import pg from 'pg'

const UNKNOWN_STATEMENT = '26000'
const STATEMENT_EXISTS = '42P05'
/** What some poolers answer themselves to a name that they do not know. */
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

  /** To be called with every error of a named statement, before it is sent again. */
  notice(error: unknown): void {
    const { code = '' } = error instanceof pg.DatabaseError ? error : {}
    if (!this.#inUse || ![UNKNOWN_STATEMENT, STATEMENT_EXISTS, PROTOCOL_VIOLATION].includes(code)) return
    this.#inUse = false
    this.#warn(
      `A prepared statement was lost (SQLSTATE ${code}): DATABASE_URL leads to a pooler that lends its connections by ` +
        'the transaction. From now on statements are sent without names; set LATCHKEY_PG_PREPARED=off.',
    )
  }
}

export const UNNAMED = new StatementNames(false)
