import { describeClock } from './clock.ts'

describeClock('in process', 6)
