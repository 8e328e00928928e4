// One executable with everything in it: Node.js, the bundled program, its migrations, the console, the API page.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, globSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bundle } from './bundle.mjs'

/** Files that the program reads while it runs, by the paths that they have in a clone. */
const FILES = [
  'package.json',
  'src/storage/*/sql/migrations/*.sql',
  'console/dist/**/*',
  'portal/dist/*',
  'node_modules/@fastify/swagger-ui/static/*',
]

const executableName = `latchkey-linux-${process.arch}`

export async function buildExecutable({ root, out, work, node, builtAtSeconds }) {
  if (process.platform !== 'linux')
    throw new Error('The executable is built on Linux only; --only npm works everywhere.')
  const folder = join(work, 'executable')
  mkdirSync(folder, { recursive: true })
  await bundle(root, folder)
  const builtAt = join(folder, 'built-at')
  writeFileSync(builtAt, String(builtAtSeconds * 1000))
  const output = join(out, executableName)
  const config = join(folder, 'sea.json')
  const settings = {
    // A relative path: Node.js keeps it in the executable.
    main: 'main.mjs',
    mainFormat: 'module',
    executable: strippedRuntime(node, folder),
    output,
    disableExperimentalSEAWarning: true,
    // A code cache would save 80 ms of a start, but V8 writes a different one each time.
    useCodeCache: false,
    assets: { ...assetsOf(root), 'built-at': builtAt, 'thread.cjs': join(folder, 'thread.cjs') },
  }
  writeFileSync(config, JSON.stringify(settings, null, 2))
  rmSync(output, { force: true })
  execFileSync(process.execPath, ['--build-sea', config], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  return output
}

/** The one of npm, whose checksum is in the lock file. */
export function pinnedNode(root) {
  return realpathSync(join(root, 'node_modules', '.bin', 'node'))
}

/** Another build of the pinned version, such as the one of nodejs.org or your own: no other version was tested. */
export function givenNode(file) {
  const version = execFileSync(resolve(file), ['--version'], { encoding: 'utf8' }).trim()
  if (version !== process.version) throw new Error(`--node takes Node.js ${process.version}; ${file} is ${version}`)
  return resolve(file)
}

function assetsOf(root) {
  const names = globSync(FILES, { cwd: root }).filter((name) => statSync(join(root, name)).isFile())
  return Object.fromEntries(names.sort().map((name) => [name, join(root, name)]))
}

/** Without its symbols Node.js is a fifth smaller. Stripping the finished executable would destroy it. */
function strippedRuntime(node, folder) {
  const runtime = join(folder, 'node')
  copyFileSync(node, runtime)
  chmodSync(runtime, 0o755)
  execFileSync('strip', ['--strip-all', runtime])
  return runtime
}
