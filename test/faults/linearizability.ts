// The long run of test/trust/linearizability-postgres.test.ts.
import { describeOffMeansOff } from '../trust/off-means-off.ts'

describeOffMeansOff({ flips: 10_000, verifications: 500_000 }, { flips: 2_000, verifications: 100_000 })
