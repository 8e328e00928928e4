import { postgresEngine } from '../support/postgres.ts'
import { allScenarios } from './all.scenarios.ts'
import { describeConcurrency } from './concurrency.ts'
import { describeCsv } from './csv.ts'
import { describeLeaks } from './leaks.ts'
import { runScenarios } from './scenario.ts'

runScenarios(postgresEngine, allScenarios)
describeConcurrency(postgresEngine)
describeLeaks(postgresEngine)
describeCsv(postgresEngine)
