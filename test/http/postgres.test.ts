import { postgresEngine } from '../support/postgres.ts'
import { allScenarios } from './all.scenarios.ts'
import { describeBulk } from './bulk.ts'
import { describeConcurrency } from './concurrency.ts'
import { describeCsv } from './csv.ts'
import { describeLeaks } from './leaks.ts'
import { isEngineBound, runScenarios } from './scenario.ts'

// What is answered before any engine is asked is played on the embedded one.
runScenarios(postgresEngine, allScenarios, isEngineBound)
describeConcurrency(postgresEngine)
describeBulk(postgresEngine)
describeLeaks(postgresEngine)
describeCsv(postgresEngine)
