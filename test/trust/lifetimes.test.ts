import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeLifetimes } from './lifetimes.ts'

for (const engine of [sqliteEngine, postgresEngine]) describeLifetimes(engine)
