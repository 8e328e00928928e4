// The console in a real Chromium against the real server. One browser and one server for all of it; each test has an
// account and a browser profile of its own.
import { after, afterEach, before, describe } from 'node:test'
import { describeAppearance } from './appearance.ts'
import { describeChanges } from './changes.ts'
import { describeCredentials } from './credentials.ts'
import { describeDelivery } from './delivery.ts'
import { describeHostileNames } from './hostile-names.ts'
import { describeOverviewAndHistory } from './overview-and-history.ts'
import { describeSignIn } from './sign-in.ts'
import { describeSubAccounts } from './sub-accounts.ts'
import { describeTokenList } from './token-list.ts'
import { describeTokenView } from './token-view.ts'
import { describeTrouble } from './trouble.ts'
import { World } from './world.ts'

export type Part = (world: () => World) => void

const parts: Record<string, Part> = {
  delivery: describeDelivery,
  'signing in': describeSignIn,
  'the token list': describeTokenList,
  'one token': describeTokenView,
  changes: describeChanges,
  credentials: describeCredentials,
  'sub-accounts': describeSubAccounts,
  'overview and history': describeOverviewAndHistory,
  trouble: describeTrouble,
  'hostile names': describeHostileNames,
  appearance: describeAppearance,
}

describe('the console', () => {
  let world: World
  before(async () => {
    world = await World.open()
  })
  afterEach(() => world.assertClean())
  after(() => world.close())
  for (const [title, part] of Object.entries(parts)) describe(title, () => part(() => world))
})
