// Preloaded by `npm test` into the process of each test file and into its threads, which load the bundles of modules.
import { registerHooks } from 'node:module'

const bundles = JSON.parse(process.env.TEST_BUNDLES ?? '{}')

registerHooks({
  resolve(specifier, context, next) {
    const url = bundles[specifier]
    return url === undefined ? next(specifier, context) : { url, shortCircuit: true }
  },
})
