import { describeDiskFull } from './disk-full.ts'

describeDiskFull('pages', 2, 0)
