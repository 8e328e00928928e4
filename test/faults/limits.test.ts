// The short form, on one engine: that two who have a store open never grant more than a limit is in the contract of stores.
import { describeHammering } from './hammering.ts'

const LENGTH = { seconds: 6, most: 2_200, kills: 1, rate: { limit: 300, seconds: 60 }, quota: 400 }

describeHammering('three workers on the embedded store', LENGTH)
