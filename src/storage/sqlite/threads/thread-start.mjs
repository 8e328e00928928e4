// Where a thread begins: the cache must be there before the first TypeScript file is looked at.
import '../../../compile-cache.mjs'

await import('./thread.ts')
