// The long run of test/verifier/off-means-off.test.ts.
import { ALL_CONTROLS, describeVerifiers } from '../verifier/off-means-off.ts'

const length = { flips: 10_000, verifications: 10_000_000, processes: 5, verifiersEach: 10, faultEveryMs: 2_000 }
describeVerifiers(length, { embedded: ALL_CONTROLS, postgres: ALL_CONTROLS })
