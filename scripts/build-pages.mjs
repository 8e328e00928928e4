// Builds console/dist, portal/dist and client/dist, unless they are already what the sources say. Runs before every start and test.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const BUILT = ['console', 'portal']
const distOf = (name) => join(root, name, 'dist')
const stamp = join(distOf('console'), '.stamp')

/** Everything that the result depends on: the sources, how they are built, and the packages in use. */
function sourcesDigest() {
  const sources = [
    ...['console/**/*', 'portal/**/*', 'client/*', 'client/{middleware,verifier}/*', 'src/tokens/verify/*'],
    ...['scripts/build-pages.mjs', 'tsconfig.json', 'package-lock.json'],
  ]
  const files = globSync(sources, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !BUILT.some((name) => file.startsWith(distOf(name))))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(file.slice(root.length)).update('\0').update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}

/** Once, here, at the best ratio, instead of at every request. */
function compress(folder) {
  for (const name of readdirSync(folder, { recursive: true })) {
    if (!/\.(html|js|css|svg)$/.test(name)) continue
    const file = join(folder, name)
    const bytes = readFileSync(file)
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }))
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
  }
}

const wanted = sourcesDigest()
const clientBuilt = existsSync(join(root, 'client', 'dist', 'client', 'latchkey-client.js'))
const isStale =
  !clientBuilt || !existsSync(distOf('portal')) || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted
// With --check nothing is built; the exit code says whether that would be needed.
if (process.argv.includes('--check')) process.exitCode = isStale ? 1 : 0
else if (isStale) {
  console.error('Building the console and the portal ...')
  rmSync(stamp, { force: true })
  const { build } = await import('vite')
  for (const name of BUILT) {
    await build({ root: join(root, name), configFile: join(root, name, 'vite.config.ts'), logLevel: 'warn' })
    compress(distOf(name))
  }
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const client = spawnSync(process.execPath, [tsc, '-p', join(root, 'client')], { stdio: 'inherit' })
  if (client.status !== 0) process.exit(1)
  writeFileSync(stamp, wanted)
}
