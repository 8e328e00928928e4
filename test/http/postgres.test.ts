import { postgresEngine } from '../support/postgres.ts'
import { allScenarios } from './all.scenarios.ts'
import { describeBulk } from './bulk.ts'
import { describeConcurrency } from './concurrency.ts'
import { describeCsv } from './csv.ts'
import { describeLeaks } from './leaks.ts'
import { runScenarios } from './scenario.ts'

runScenarios(postgresEngine, allScenarios)
describeConcurrency(postgresEngine)
describeBulk(postgresEngine)
describeLeaks(postgresEngine)
describeCsv(postgresEngine)
