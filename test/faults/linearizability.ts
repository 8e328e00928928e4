// The long runs of test/trust/linearizability.test.ts and test/trust/linearizability-postgres.test.ts.
import { describeEmbeddedOffMeansOff, describeOffMeansOff } from '../trust/off-means-off.ts'

describeEmbeddedOffMeansOff({ flips: 5_000, verifications: 200_000 })
describeOffMeansOff({ flips: 10_000, verifications: 500_000 }, { flips: 2_000, verifications: 100_000 })
