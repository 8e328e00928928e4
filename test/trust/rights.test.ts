import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeRights } from './rights.ts'
import { describeScopes } from './scopes.ts'

for (const engine of [sqliteEngine, postgresEngine]) {
  describeRights(engine)
  describeScopes(engine)
}
