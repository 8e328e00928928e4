// The short form; the long one is usage.ts.
import { sqliteEngine } from '../support/estate.ts'
import { describeUsageKills } from './usage-kills.ts'

describeUsageKills(sqliteEngine, { kills: 1, ms: [6_500, 7_900] })
