// Imported first, in a process and in each of its threads: what was compiled once is not compiled at every start. Without
// it a thread strips the types of every file by itself, which takes it half a second and 30 MB.
import module from 'node:module'
import { fileURLToPath } from 'node:url'

module.enableCompileCache?.(fileURLToPath(new URL('../node_modules/.cache/latchkey', import.meta.url)))
