// The positive control of a promise: the same server on a store that does what ours does not.
import pino from 'pino'
import { openLatchkey } from '../../src/compose.ts'
import { readProcessConfig } from '../../src/config.ts'
import { Metrics } from '../../src/http/observe/metrics.ts'
import { buildServer } from '../../src/http/server.ts'
import { Registry } from '../../src/tokens/service/registry.ts'
import type { Store } from '../../src/tokens/service/store.ts'

export async function serveAltered(alter: (store: Store) => Partial<Store>): Promise<void> {
  const config = readProcessConfig()
  const metrics = new Metrics()
  const { store, verifiers, gate, stamps, keys } = await openLatchkey(config, { metrics })
  const altered = { ...store, ...alter(store) }
  const registry = new Registry({ store: altered, keys, stamps, now: Date.now, onTampered() {} })
  const server = await buildServer({
    registry,
    verifiers,
    gate,
    authenticator: (key) => registry.authenticate(key),
    app: config,
    version: config.appVersion,
    log: pino({ level: 'silent' }),
    metrics,
    now: Date.now,
    ready: () => store.ping(),
    isDraining: () => false,
    credentialHeader: undefined,
    trustProxy: [],
  })
  console.log(`ready at ${await server.listen({ host: config.host, port: config.port })}`)
}
