// The package latchkey-client: the client and its middleware without the service. Bundled and minified, with source maps that contain
// the sources; the types as the compiler writes them, without indentation, which is a tenth of them.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'

const ENTRIES = {
  '.': 'latchkey-client',
  './express': 'middleware/express',
  './fastify': 'middleware/fastify',
  './fetch': 'middleware/fetch',
  './verifier': 'verifier/verifier',
}

export async function buildClientPackage({ root, out, work, addresses }) {
  const folder = join(work, 'client')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await writeScripts(root, folder)
  writeTypes(join(root, 'client', 'dist', 'client'), folder)
  cpSync(join(root, 'client', 'PACKAGE.md'), join(folder, 'README.md'))
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOf(root, addresses), null, 2)}\n`)
  const args = ['pack', folder, '--pack-destination', out, '--json', '--loglevel=error']
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }))
  return join(out, filename)
}

async function writeScripts(root, folder) {
  const names = Object.values(ENTRIES)
  const input = Object.fromEntries(names.map((name) => [name, join(root, 'client', `${name}.ts`)]))
  const bundle = await rolldown({ input, cwd: root, platform: 'neutral', external: /^node:/ })
  const files = { entryFileNames: '[name].js', chunkFileNames: 'shared/[name].js' }
  await bundle.write({ dir: folder, format: 'esm', sourcemap: true, minify: true, ...files })
  await bundle.close()
}

function writeTypes(dist, folder) {
  for (const name of globSync('**/*.d.ts', { cwd: dist })) {
    const target = join(folder, name)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, readFileSync(join(dist, name), 'utf8').replaceAll(/^ +/gm, ''))
  }
}

export function manifestOf(root, addresses) {
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const exported = Object.entries(ENTRIES).map(([path, name]) => [
    path,
    { types: `./${name}.d.ts`, default: `./${name}.js` },
  ])
  return {
    name: 'latchkey-client',
    version,
    description:
      'The typed client of Latchkey, a verifier that answers from memory, and middleware for Express, Fastify and the Fetch API',
    license,
    ...addresses,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { ...Object.fromEntries(exported), './package.json': './package.json' },
  }
}
