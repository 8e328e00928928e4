import { postgresEngine } from '../support/postgres.ts'
import { describeVerifiers } from './verifier.scenarios.ts'

describeVerifiers(postgresEngine)
