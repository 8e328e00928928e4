// Entry point of a worker thread: turns the compile cache on before the first TypeScript file is loaded.
import '../../../compile-cache.mjs'

await import('./thread.ts')
