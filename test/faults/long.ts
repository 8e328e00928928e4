// The long form of every fault; the quick ones stand in the *.test.ts beside this file.
import { describeBackups, describeKilledRestores, describeRevocations } from './backups.ts'
import { describeClock } from './clock.ts'
import { describeErrors, describeFileLimit, describePartialCheckpoint } from './disk-errors.ts'
import { describeDiskFull } from './disk-full.ts'
import { describeKills } from './kills.ts'
import { describeMasterKey } from './master-key.ts'
import { describeMigrations } from './migrations.ts'
import { describePostgres } from './postgres.ts'
import { describePowerLoss } from './power-loss.ts'
import { describeRestarts } from './restarts.ts'

/** One after the other until there is nothing left to cut off. */
const all = Array.from({ length: 200 }, (_, n) => n + 1)

describeKills({ kills: 200, answers: [0, 220] }, { kills: 10, answers: [50, 100] })
describePowerLoss(2_000, 1_000)
describeErrors(25, 60)
describePartialCheckpoint()
describeFileLimit(10)
describeDiskFull('small disk', 10, 3_000)
describeRestarts({ balancer: 'HAProxy', drainSeconds: 1, restarts: 50, requests: 100_000, kills: 5 })
describeMigrations(all, all)
describePostgres({ cut: 10, hung: 3, slow: 3, restarted: 5 })
describeClock('libfaketime', 50)
describeMasterKey()
describeBackups(20)
describeRevocations(1_000)
describeKilledRestores(50)
