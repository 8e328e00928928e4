// Signing in, and what the console shows of an account, in a real Chromium against the real server.
import { describeDelivery } from './delivery.ts'
import { describeHostileNames } from './hostile-names.ts'
import { describeOperations } from './operations.ts'
import { describeOverviewAndHistory } from './overview-and-history.ts'
import { describeSignIn } from './sign-in.ts'
import { describeSubAccounts } from './sub-accounts.ts'
import { describeTrouble } from './trouble.ts'
import { describeConsole } from './world.ts'

describeConsole({
  delivery: describeDelivery,
  'signing in': describeSignIn,
  'sub-accounts': describeSubAccounts,
  'overview and history': describeOverviewAndHistory,
  'bulk operations': describeOperations,
  trouble: describeTrouble,
  'hostile names': describeHostileNames,
})
