// What a restore must not revive is in test/trust/restore.test.ts.
import { describeBackups, describeKilledRestores } from './backups.ts'

describeBackups(1)
describeKilledRestores(2)
