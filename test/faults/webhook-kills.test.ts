import { sqliteEngine } from '../support/estate.ts'
import { describeWebhookKills } from './webhook-kills.ts'

describeWebhookKills(sqliteEngine, { kills: 1, ms: [500, 1_000], refusedOf: 1_000 })
