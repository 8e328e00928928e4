// Preloaded by `npm test` into each process of test files. The test runner follows every promise, with async_hooks, to name
// the test of an error that nobody has caught: a tenth of the processor time of a file that serves requests, and more than half
// of one that does little but wait. Here it follows the tests and suites themselves, which it needs to know what stands
// in what. An error that nobody has caught is printed, and fails all files of the process.
import hooks from 'node:async_hooks'
import { createRequire } from 'node:module'
import { isMainThread } from 'node:worker_threads'

if (isMainThread) {
  const { createHook, AsyncResource } = hooks
  let follow = () => {}
  hooks.createHook = (callbacks) => {
    follow = callbacks.init
    return { enable() {}, disable() {} }
  }
  hooks.AsyncResource = class extends AsyncResource {
    constructor(type, options) {
      super(type, options)
      follow(this.asyncId(), type, this.triggerAsyncId(), this)
    }
  }
  // The runner takes both when it is loaded; nobody else gets them.
  createRequire(import.meta.url)('node:test')
  Object.assign(hooks, { createHook, AsyncResource })
  // The runner itself sees only what happens after a first test: not that a file cannot be loaded.
  const fail = (error) => {
    console.error(error)
    process.exitCode = 1
  }
  for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, fail)
}
