import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeBulkKills } from './bulk-kills.ts'

for (const engine of [sqliteEngine, postgresEngine]) describeBulkKills(engine, 1)
