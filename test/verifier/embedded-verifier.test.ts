import { sqliteEngine } from '../support/estate.ts'
import { describeVerifiers } from './verifier.scenarios.ts'

describeVerifiers(sqliteEngine)
