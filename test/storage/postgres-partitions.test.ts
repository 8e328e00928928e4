// A store divided into partitions, held to what partitions change of the contract of every engine.
import { openEmptyPostgres, PATIENT } from '../support/postgres.ts'
import { describePartitions } from './contract.ts'

describePartitions('the PostgreSQL store in partitions', () => openEmptyPostgres({ ...PATIENT, partitions: 4 }))
