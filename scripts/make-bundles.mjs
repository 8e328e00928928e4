// What a whole run of the tests loads again and again, in a few files instead of hundreds: the programs that tests start, the
// thread of the embedded engine, and typebox. They save 30% of the processor time of test/cli. The sources are the same but for the
// paths that they find files by.
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, READERS, withPathsOf } from '../packaging/bundle.mjs'

const ROOT = join(import.meta.dirname, '..')
const FOLDER = join(ROOT, 'node_modules', '.cache', 'latchkey-bundles')
const THREADS = join(ROOT, 'src', 'storage', 'sqlite', 'threads')

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
const bundle = (input, output) => build(input, { name: 'paths', load }, { format: 'esm', ...output })

/** The paths of programs and the names of modules, each with the path or the address of its bundle. */
export async function makeBundles() {
  rmSync(FOLDER, { recursive: true, force: true })
  const programs = Object.fromEntries(Object.values(PROGRAMS).map((file) => [nameOf(file), join(ROOT, file)]))
  await bundle(programs, { dir: FOLDER, entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' })
  const alone = { 'thread-start.mjs': join(THREADS, 'thread.ts'), 'typebox.mjs': 'typebox' }
  for (const [name, input] of Object.entries(alone))
    await bundle(input, { file: join(FOLDER, name), codeSplitting: false })
  return {
    ...Object.fromEntries(
      Object.entries(PROGRAMS).map(([started, file]) => [join(ROOT, started), join(FOLDER, `${nameOf(file)}.mjs`)]),
    ),
    [pathToFileURL(join(THREADS, 'thread-start.mjs')).href]: pathToFileURL(join(FOLDER, 'thread-start.mjs')).href,
    typebox: pathToFileURL(join(FOLDER, 'typebox.mjs')).href,
  }
}

function load(id) {
  // A bundled program starts the bundled thread, which lies beside it.
  if (id === join(THREADS, 'worker-client.ts')) return null
  const isOurs = id.startsWith(join(ROOT, 'src', '/')) || id.startsWith(join(ROOT, 'test', '/'))
  if (!(isOurs || READERS.test(id)) || !/\.[mc]?[jt]s$/.test(id)) return null
  return withPathsOf(id, readFileSync(id, 'utf8'))
}
