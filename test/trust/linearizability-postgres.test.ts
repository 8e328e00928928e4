// A short run; the long one is in `npm run test:faults`.
import { describeOffMeansOff } from './off-means-off.ts'

// The control finds its cache with fewer.
describeOffMeansOff({ flips: 200, verifications: 4_000 }, { flips: 200, verifications: 4_000 })
