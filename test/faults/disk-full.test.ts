import { describeDiskFull } from './disk-full.ts'

describeDiskFull('pages', 1, 0)
