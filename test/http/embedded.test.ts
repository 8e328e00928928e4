import { sqliteEngine } from '../support/estate.ts'
import { allScenarios } from './all.scenarios.ts'
import { describeBulk, describeRefusedBulk } from './bulk.ts'
import { describeConcurrency } from './concurrency.ts'
import { describeAskingForCsv, describeCsv } from './csv.ts'
import { describeLeaks } from './leaks.ts'
import { runScenarios } from './scenario.ts'

runScenarios(sqliteEngine, allScenarios)
describeConcurrency(sqliteEngine)
describeBulk(sqliteEngine)
describeRefusedBulk(sqliteEngine)
describeLeaks(sqliteEngine)
describeCsv(sqliteEngine)
describeAskingForCsv(sqliteEngine)
