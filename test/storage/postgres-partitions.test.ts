// A store divided into partitions, held to the contract of every engine. The parts that open many stores, and hardly touch what
// is divided, run with `npm run test:faults`.
import { describe } from 'node:test'
import { openEmptyPostgres, PATIENT } from '../support/postgres.ts'
import { runs } from '../support/runs.ts'
import { describeParts, describeStore } from './contract.ts'

const name = 'the PostgreSQL store in partitions'
const open = () => openEmptyPostgres({ ...PATIENT, partitions: 4 })
if (runs(0, 1) === 1) describeStore(name, open)
else describe(name, () => describeParts(open))
