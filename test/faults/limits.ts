// The long form of limits under kills; the quick one is limits.test.ts.
import { describeHammering } from './hammering.ts'

const RATE = { limit: 1_000, seconds: 60 }
const LENGTH = { seconds: 120, kills: 4, rate: RATE, quota: 10_000 }
const CONTROLLED = { seconds: 20, kills: 0, rate: RATE, quota: 1_000 }

describeHammering('four instances on PostgreSQL', LENGTH, CONTROLLED)
describeHammering('three workers on the embedded store', LENGTH, CONTROLLED)
