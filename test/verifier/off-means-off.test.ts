// A short run; the long one is in `npm run test:faults`.
import { describeVerifiers } from './off-means-off.ts'

describeVerifiers({ flips: 60, verifications: 20_000, processes: 2, verifiersEach: 3 }, [
  'changes that do not wait for verifiers',
])
