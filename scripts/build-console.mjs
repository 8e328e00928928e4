// Builds console/dist and client/dist, unless they are already what the sources say. Runs before every start and test.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'console', 'dist')
const stamp = join(dist, '.stamp')

/** Everything that the result depends on: the sources, how they are built, and the packages in use. */
function sourcesDigest() {
  const sources = [
    ...['console/**/*', 'client/*', 'client/{middleware,verifier}/*', 'src/tokens/verify/*'],
    ...['scripts/build-console.mjs', 'tsconfig.json', 'package-lock.json'],
  ]
  const files = globSync(sources, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(dist))
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
const isStale = !clientBuilt || !existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted
// With --check nothing is built; the exit code says whether that would be needed.
if (process.argv.includes('--check')) process.exitCode = isStale ? 1 : 0
else if (isStale) {
  console.error('Building the console ...')
  rmSync(stamp, { force: true })
  const { build } = await import('vite')
  await build({ root: join(root, 'console'), configFile: join(root, 'console', 'vite.config.ts'), logLevel: 'warn' })
  compress(dist)
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const client = spawnSync(process.execPath, [tsc, '-p', join(root, 'client')], { stdio: 'inherit' })
  if (client.status !== 0) process.exit(1)
  writeFileSync(stamp, wanted)
}
