import { describeTornLog } from './torn-log.ts'

describeTornLog(20)
