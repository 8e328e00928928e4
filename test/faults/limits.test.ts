import { describeHammering } from './hammering.ts'

describeHammering('four instances on PostgreSQL', { seconds: 4, kills: 1, quota: 500 })
describeHammering('three workers on the embedded store', { seconds: 4, kills: 1, quota: 500 })
