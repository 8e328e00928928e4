// The long form of kills of servers that count verifications; the quick one is usage-kills.test.ts.
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeUsageKills } from './usage-kills.ts'

for (const engine of [sqliteEngine, postgresEngine]) {
  describeUsageKills(engine, { kills: 12, ms: [3_000, 12_000] })
}
