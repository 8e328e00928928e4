// The program and its libraries as two scripts, one for the process and one for its threads. Whatever the sources find by
// import.meta or __dirname has the path of a file inside the executable.
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { rolldown } from 'rolldown'

const EMBEDDED_ROOT = '/dev/null/latchkey'
const REPLACED = {
  'node:fs': 'fs.mjs',
  'node:fs/promises': 'fs-promises.mjs',
  'node:worker_threads': 'worker-threads.mjs',
}
/** Libraries that serve files which lie beside their own. */
export const READERS = /\/node_modules\/@fastify\/(send|static|swagger-ui)\//
/** `pg` loads it only for those who ask for it by name. */
const ABSENT = ['pg-native']

const OWN = join(import.meta.dirname, 'executable')
const THREAD = 'src/storage/sqlite/threads/thread.ts'

/** The folder `root` is a clone with its packages installed. */
export async function bundle(root, folder) {
  const entries = [
    { input: join(OWN, 'main.mjs'), file: 'main.mjs', format: 'esm' },
    // A thread that starts from a text is CommonJS.
    { input: join(root, THREAD), file: 'thread.cjs', format: 'cjs' },
  ]
  // Names stay as they are: they appear in stack traces.
  const minify = { compress: false, mangle: false, codegen: true }
  for (const { input, file, format } of entries) {
    const output = { file: join(folder, file), format, codeSplitting: false, minify, comments: false }
    await build(input, embed(root), output)
  }
}

/** The libraries and our sources in fewer files, as the options of rolldown say. */
export async function build(input, plugin, output) {
  const made = await rolldown({
    input,
    platform: 'node',
    external: ABSENT,
    plugins: [plugin],
    onLog(level, log, standard) {
      // Libraries that call eval, or are written for several kinds of modules.
      if (!['EVAL', 'COMMONJS_VARIABLE_IN_ESM'].includes(log.code)) standard(level, log)
    },
  })
  await made.write(output)
  await made.close()
}

function embed(root) {
  const ours = join(root, 'src', '/')
  return {
    name: 'embed',
    resolveId(source, importer = '') {
      if (source === 'latchkey-main') return join(root, 'src', 'main.ts')
      const replacement = REPLACED[source]
      if (replacement === undefined || importer.startsWith(OWN)) return null
      return importer.startsWith(ours) || READERS.test(importer) ? join(OWN, replacement) : null
    },
    load(id) {
      if (!id.startsWith(ours) && !READERS.test(id)) return null
      if (!/\.[mc]?[jt]s$/.test(id)) return null
      return withPathsOf(`${EMBEDDED_ROOT}/${relative(root, id)}`, readFileSync(id, 'utf8'))
    },
  }
}

/** The code finds other files from this path, wherever it is put. */
export function withPathsOf(path, code) {
  const folder = JSON.stringify(path.slice(0, path.lastIndexOf('/')))
  return code
    .replaceAll('import.meta.url', JSON.stringify(`file://${path}`))
    .replaceAll('import.meta.dirname', folder)
    .replaceAll(/\b__dirname\b/g, folder)
}
