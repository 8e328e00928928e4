import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeFuzz, describeFuzzOfTexts } from './fuzz.ts'

describeFuzz(sqliteEngine, { seed: 7, cases: 25 })
describeFuzz(postgresEngine, { seed: 8, cases: 10 })
describeFuzzOfTexts({ seed: 9, cases: 150 })
