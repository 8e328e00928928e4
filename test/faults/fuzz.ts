// Nine kinds of requests on each engine and three kinds of texts: 102,000 cases, other ones each time.
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { SEED as seed } from '../support/seed.ts'
import { describeFuzz, describeFuzzOfTexts } from '../trust/fuzz.ts'

describeFuzz(sqliteEngine, { seed, cases: 5_000 })
describeFuzz(postgresEngine, { seed, cases: 3_000 })
describeFuzzOfTexts({ seed, cases: 10_000 })
