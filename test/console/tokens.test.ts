// What is done with tokens in the console, in a real Chromium against the real server.
import { describeChanges } from './changes.ts'
import { describeCredentials } from './credentials.ts'
import { describeLeaks } from './leaks.ts'
import { describeTokenList } from './token-list.ts'
import { describeTokenView } from './token-view.ts'
import { describeConsole } from './world.ts'

describeConsole({
  'the token list': describeTokenList,
  'one token': describeTokenView,
  changes: describeChanges,
  credentials: describeCredentials,
  leaks: describeLeaks,
})
