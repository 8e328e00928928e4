// A short run; the long one is in `npm run test:faults`.
import { describeOffMeansOff } from './off-means-off.ts'

describeOffMeansOff({ flips: 1_500, verifications: 60_000 }, { flips: 200, verifications: 6_000 })
