// The long form of kills of processes that carry out bulk operations; the quick one is bulk-kills.test.ts.
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeBulkKills } from './bulk-kills.ts'

for (const engine of [sqliteEngine, postgresEngine]) describeBulkKills(engine, 50)
