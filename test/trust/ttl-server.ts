// The positive control: the same server with what we do not do, a cache with a time to live before the store.
import pino from 'pino'
import { openLatchkey } from '../../src/compose.ts'
import { readProcessConfig } from '../../src/config.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { buildServer } from '../../src/http/server.ts'
import { loadMasterKey } from '../../src/master-key.ts'
import { Registry } from '../../src/tokens/registry.ts'
import type { Candidate } from '../../src/tokens/verdict.ts'

const TIME_TO_LIVE_MS = 50

const config = readProcessConfig()
const { store, stamps } = await openLatchkey(config)
const cache = new Map<string, { readonly until: number; readonly candidate: Candidate | undefined }>()
const cached = {
  ...store,
  async findCandidate(digest: Uint8Array) {
    const name = Buffer.from(digest).toString('hex')
    const known = cache.get(name)
    if (known !== undefined && known.until > performance.now()) return known.candidate
    const candidate = await store.findCandidate(digest)
    cache.set(name, { until: performance.now() + TIME_TO_LIVE_MS, candidate })
    return candidate
  },
}
const parts = { store: cached, masterKey: loadMasterKey(config), stamps, now: Date.now, onTampered() {} }
const registry = new Registry(parts)
const server = await buildServer({
  registry,
  authenticator: (key) => registry.authenticate(key),
  app: config,
  log: pino({ level: 'silent' }),
  metrics: new Metrics(),
  now: Date.now,
  ready: () => store.ping(),
  credentialHeader: undefined,
  trustProxy: [],
})
console.log(`ready at ${await server.listen({ host: config.host, port: config.port })}`)
