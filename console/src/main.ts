// Starts the console. The key of a link is taken out of the address before anything else runs; then the data of the first view and the code
// that shows it are asked for at the same time.
import { keptKey, takeKeyFromAddress } from './api/account-key.ts'
import { readFirst } from './api/first-reads.ts'
import { drawPlainRows } from './first-rows.ts'
import { loadLater, loadTokens } from './load.ts'

const linkedKey = takeKeyFromAddress()
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')

const page = import('./page.tsx')
readFirst(location, (rows) => drawPlainRows(root, rows))
if (keptKey() === undefined) void import('./app/sign-in.tsx')
else loadFirstView(location.pathname)
void page.then(({ startPage }) => startPage(root, linkedKey))

/** For those who have signed in with a key: nothing waits for the page to find out what it needs. */
function loadFirstView(pathname: string): void {
  void import('./signed-in.tsx')
  if (pathname === '/console/tokens') void loadTokens()
  else if (pathname !== '/console/') void loadLater()
}
