import { describeBackups, describeKilledRestores, describeRevocations } from './backups.ts'

describeBackups(1)
describeRevocations(50)
describeKilledRestores(2)
