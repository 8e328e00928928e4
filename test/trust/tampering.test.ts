// A tampered store is noticed, on both engines.
import { describe } from 'node:test'
import { sqliteEngine } from '../support/estate.ts'
import { postgresEngine } from '../support/postgres.ts'
import { describeTamperedPolicies } from './tampered-policies.ts'
import { describeTampering } from './tampering.ts'

for (const engine of [sqliteEngine, postgresEngine]) {
  describe(`a tampered store (${engine.name})`, () => describeTampering(engine))
  describeTamperedPolicies(engine)
}
