// The engine past one machine, held to the contract of every engine.
import { openEmptyPostgres, PATIENT } from '../support/postgres.ts'
import { describeStore } from './contract.ts'

describeStore('the PostgreSQL store', () => openEmptyPostgres(PATIENT))
