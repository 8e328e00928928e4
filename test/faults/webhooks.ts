// The long form of kills of servers that send events; the quick one is webhook-kills.test.ts.
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeWebhookKills } from './webhook-kills.ts'

for (const engine of [sqliteEngine, postgresEngine]) {
  describeWebhookKills(engine, { kills: 200, ms: [200, 3_000], refusedOf: 250 })
}
