// A short run; the long one is in `npm run test:faults`.
import { describeVerifiers } from './off-means-off.ts'

const length = { flips: 60, verifications: 20_000, processes: 2, verifiersEach: 3 }
describeVerifiers(length, { embedded: ['changes that do not wait for verifiers'] })
