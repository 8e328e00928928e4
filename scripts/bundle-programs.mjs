// The programs that tests start, in a few files instead of hundreds, of which most are a library's: loading them took half of
// the processor time of a server's start. The same sources, without any change but the paths that they find files by.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { build, READERS, withPathsOf } from '../packaging/bundle.mjs'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'node_modules', '.cache', 'latchkey-programs')

/** Started by a path beside that of the file that starts it. */
const THREAD = 'src/storage/sqlite/threads/thread-start.mjs'
const STARTS_THREADS = join(ROOT, 'src/storage/sqlite/threads/worker-client.ts')

/** What a test starts, and what is bundled for it. */
const PROGRAMS = {
  'bin/latchkey.mjs': 'src/main.ts',
  ...Object.fromEntries(
    [
      'test/cli/as-user.ts',
      'test/faults/counting-alone-server.ts',
      'test/faults/early-server.ts',
      'test/faults/partial-checkpoint-program.ts',
      'test/faults/plain-clock-server.ts',
      'test/faults/unguarded-server.ts',
      'test/storage/killed-copy.ts',
      'test/trust/killed-rotation.ts',
      'test/trust/ttl-server.ts',
    ].map((file) => [file, file]),
  ),
}

const nameOf = (file) => file.replace(/\.\w+$/, '').replaceAll('/', '-')

/** The paths of the programs, each with that of its bundle. */
export async function bundlePrograms() {
  rmSync(FOLDER, { recursive: true, force: true })
  const input = Object.fromEntries(Object.values(PROGRAMS).map((file) => [nameOf(file), join(ROOT, file)]))
  const output = { dir: FOLDER, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' }
  await build({ ...input, 'thread-start': join(ROOT, THREAD) }, { name: 'paths', load }, output)
  return Object.fromEntries(
    Object.entries(PROGRAMS).map(([started, file]) => [join(ROOT, started), join(FOLDER, `${nameOf(file)}.mjs`)]),
  )
}

function load(id) {
  const isOurs = id.startsWith(join(ROOT, 'src', '/')) || id.startsWith(join(ROOT, 'test', '/'))
  if (id === STARTS_THREADS || !(isOurs || READERS.test(id)) || !/\.[mc]?[jt]s$/.test(id)) return null
  return withPathsOf(id, readFileSync(id, 'utf8'))
}
