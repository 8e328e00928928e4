// Preloaded by `npm test` into each process of test files. A hook that fails may leave a server open, and its process would never end,
// nor the whole run.
import { isMainThread } from 'node:worker_threads'

const MOST_MINUTES = 25

function end() {
  console.error(`Test files still run after ${MOST_MINUTES} minutes, and are ended: ${process.argv.slice(1).join(' ')}`)
  process.exit(1)
}

if (isMainThread) setTimeout(end, MOST_MINUTES * 60_000).unref()
