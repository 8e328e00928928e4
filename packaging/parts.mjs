// What the packages are made of: a list of parts in the CycloneDX format, and the licenses of all that is not ours.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

export function writeParts({ root, out, version, node, builtAtSeconds }) {
  const list = JSON.parse(npm(root, 'sbom', '--sbom-format', 'cyclonedx'))
  // Not by `npm sbom --omit dev`, which also leaves out what both the product and its tests need.
  const delivered = new Set(librariesOf(root).map(({ folder }) => referenceOf(folder)))
  list.components = list.components.filter((part) => delivered.has(part['bom-ref']))
  list.dependencies = list.dependencies
    .filter(({ ref }) => delivered.has(ref) || ref === list.metadata.component['bom-ref'])
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => delivered.has(each)) }))
  // Where it is another one than npm's, which is in the list already.
  if (!node.startsWith(realpathSync(join(root, 'node_modules')))) list.components.push(runtimeOf(node))
  list.metadata.timestamp = new Date(builtAtSeconds * 1000).toISOString()
  // npm takes the name of the folder.
  list.metadata.component.name = 'latchkey'
  delete list.metadata.component.properties
  list.serialNumber = ''
  // A random number in npm's list; here it follows from the content.
  list.serialNumber = `urn:uuid:${uuidOf(JSON.stringify(list))}`
  writeFileSync(join(out, `latchkey-${version}.cdx.json`), `${JSON.stringify(list, null, 2)}\n`)
}

/** Those of the libraries that are installed with the product, Node.js included. */
export function writeLicenses({ root, work }) {
  const texts = librariesOf(root).flatMap(({ name, folder }) =>
    globSync('{LICENSE,LICENCE,license,License}*', { cwd: folder })
      .sort()
      .map((file) => `${LINE}\n${name}\n${LINE}\n${readFileSync(join(folder, file), 'utf8').trim()}\n`),
  )
  const file = join(work, 'third-party-licenses.txt')
  writeFileSync(file, texts.join('\n'))
  return file
}

const LINE = '='.repeat(80)

function runtimeOf(node) {
  const content = createHash('sha256').update(readFileSync(node)).digest('hex')
  const version = process.version.slice(1)
  return {
    'bom-ref': `node@${version}`,
    type: 'application',
    name: 'node',
    version,
    hashes: [{ alg: 'SHA-256', content }],
  }
}

function npm(root, ...args) {
  return execFileSync('npm', [...args, '--loglevel=error'], { cwd: root, encoding: 'utf8', maxBuffer: 64e6 })
}

function librariesOf(root) {
  const [, ...folders] = npm(root, 'ls', '--omit=dev', '--all', '--parseable').trim().split('\n').sort()
  return folders.map((folder) => ({ name: relative(join(root, 'node_modules'), folder), folder }))
}

function referenceOf(folder) {
  const { name, version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return `${name}@${version}`
}

/** Version 8: of a kind that is our own. */
function uuidOf(text) {
  const digest = createHash('sha256').update(text).digest('hex')
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `8${digest.slice(17, 20)}`]
  return [...parts, digest.slice(20, 32)].join('-')
}
