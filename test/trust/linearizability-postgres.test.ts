// A short run; the long one is in `npm run test:faults`.
import { describeOffMeansOff } from './off-means-off.ts'

describeOffMeansOff({ flips: 500, verifications: 10_000 }, { flips: 200, verifications: 4_000 })
