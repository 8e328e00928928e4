// The positive control: the same server with what we do not do, a cache with a time to live before the store.
import type { Candidate } from '../../src/tokens/trust/verdict.ts'
import { serveAltered } from '../support/altered-server.ts'

const TIME_TO_LIVE_MS = 50

const cache = new Map<string, { readonly until: number; readonly candidate: Candidate | undefined }>()
await serveAltered((store) => ({
  async findCandidate(presented) {
    const known = cache.get(presented)
    if (known !== undefined && known.until > performance.now()) return known.candidate
    const candidate = await store.findCandidate(presented)
    cache.set(presented, { until: performance.now() + TIME_TO_LIVE_MS, candidate })
    return candidate
  },
}))
