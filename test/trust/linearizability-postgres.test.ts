// A short run; the long one is in `npm run test:faults`.
import { CONTROL, describeOffMeansOff } from './off-means-off.ts'

// As many as find the cache of the control.
describeOffMeansOff(CONTROL, CONTROL)
