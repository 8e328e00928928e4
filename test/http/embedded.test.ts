import { sqliteEngine } from '../support/estate.ts'
import { allScenarios } from './all.scenarios.ts'
import { describeConcurrency } from './concurrency.ts'
import { runScenarios } from './scenario.ts'

runScenarios(sqliteEngine, allScenarios)
describeConcurrency(sqliteEngine)
