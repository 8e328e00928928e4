// The long form of limits under kills; the quick one is limits.test.ts.
import { describeHammering } from './hammering.ts'

const CONTROLLED = { seconds: 20, kills: 0, quota: 1_000 }

describeHammering('four instances on PostgreSQL', { seconds: 120, kills: 4, quota: 10_000 }, CONTROLLED)
describeHammering('three workers on the embedded store', { seconds: 120, kills: 4, quota: 10_000 }, CONTROLLED)
