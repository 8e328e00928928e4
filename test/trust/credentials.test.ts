import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeCredentials } from './credentials.ts'

for (const engine of [sqliteEngine, postgresEngine]) describeCredentials(engine)
