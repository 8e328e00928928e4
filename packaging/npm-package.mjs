// The npm package. Node.js strips no types below node_modules, so the package has JavaScript in `lib` where a clone has
// TypeScript in `src`: the same files, line by line.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

const COPIED = ['bin', 'client/dist', 'console/dist', 'portal/dist', 'README.md', 'CHANGELOG.md', 'LICENSE']
/** What only a clone needs. Private: the folder of the clone itself must never be published. */
const OMITTED = ['private', 'scripts', 'devDependencies', 'overrides']
/** A clone has the sources of the client, a package what is built of them. */
const IMPORT_OF_CLIENT = /(['"](?:\.\.\/)+client\/)(?=[^'"\n]+\.js['"])/g
const IMPORT_OF_TYPESCRIPT = /((?:from|import)\s*\(?\s*)(['"])(\.[^'"\n]*)\.ts\2/g

export function buildNpmPackage({ root, out, work, addresses }) {
  const folder = join(work, 'npm')
  rmSync(folder, { recursive: true, force: true })
  for (const name of COPIED) {
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('.stamp') })
  }
  for (const name of globSync('src/**/*.{ts,mjs,sql}', { cwd: root })) writeJavaScript(root, folder, name)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(root, addresses), null, 2)}\n`)
  const args = ['pack', folder, '--pack-destination', out, '--json', '--loglevel=error']
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))
  return join(out, filename)
}

function writeJavaScript(root, folder, name) {
  const target = join(folder, name.replace(/^src/, 'lib').replace(/\.ts$/, '.js'))
  mkdirSync(dirname(target), { recursive: true })
  const text = readFileSync(join(root, name), 'utf8')
  if (name.endsWith('.sql')) return writeFileSync(target, text)
  const script = name.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  writeFileSync(
    target,
    script.replaceAll(IMPORT_OF_TYPESCRIPT, '$1$2$3.js$2').replaceAll(IMPORT_OF_CLIENT, '$1dist/client/'),
  )
}

export function manifestOf(root, addresses) {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const name of OMITTED) delete manifest[name]
  return { ...manifest, ...addresses }
}
