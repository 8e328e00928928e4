import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeNobodyIn } from './nobody-in.ts'

describeNobodyIn(sqliteEngine)
describeNobodyIn(postgresEngine)
