// A store divided into partitions, held to the contract of every engine.
import { openEmptyPostgres, PATIENT } from '../support/postgres.ts'
import { describeStore } from './contract.ts'

describeStore('the PostgreSQL store in partitions', () => openEmptyPostgres({ ...PATIENT, partitions: 4 }))
