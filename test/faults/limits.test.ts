import { describeHammering } from './hammering.ts'

const LENGTH = { seconds: 6, most: 2_200, kills: 1, rate: { limit: 300, seconds: 60 }, quota: 400 }

describeHammering('four instances on PostgreSQL', LENGTH)
describeHammering('three workers on the embedded store', LENGTH)
