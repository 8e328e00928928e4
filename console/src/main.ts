// Starts the console. The key of a link is taken out of the address before anything else runs; then the code that the first view needs
// is asked for at the same time as its data or, where nobody has a key, as who is signed in.
import { keptKey, takeKeyFromAddress } from './api/account-key.ts'
import { readPresence } from './api/auth.ts'
import { arrive } from './api/first-questions.ts'
import { loadLater, loadTokens } from './load.ts'

const linkedKey = takeKeyFromAddress()
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')

const page = import('./page.tsx')
const key = keptKey()
const arrival = key === undefined ? undefined : arrive(key, location)
const presence = key === undefined ? readPresence() : undefined
// Nobody may be waiting for it yet.
presence?.catch(() => undefined)
if (key === undefined) void import('./app/sign-in.tsx')
else loadFirstView(location.pathname)
void page.then(({ startPage }) => startPage(root, { linkedKey, presence, arrival }))

/** For those who have signed in with a key: nothing waits for the page to find out what it needs. */
function loadFirstView(pathname: string): void {
  void import('./signed-in.tsx')
  if (pathname === '/console/tokens') void loadTokens()
  else if (pathname !== '/console/') void loadLater()
}
