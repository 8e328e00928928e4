// The positive control: the same server, but every process counts rates and quotas by itself.
import { serveAltered } from '../support/altered-server.ts'
import { Clock, MemoryLimits } from '../support/limits.ts'

const clock = new Clock(Date.now())
const limits = new MemoryLimits(clock)
await serveAltered(() => ({
  reserveUnits(account, ask) {
    clock.elapsed = performance.now()
    return limits.reserveUnits(account, ask)
  },
}))
