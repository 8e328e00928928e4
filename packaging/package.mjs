// Builds every package into `dist`: npm packages of the service and of its client, executable, Debian package, container image, list of parts, checksums.
// Two builds of one commit give the same bytes: every time in them is the time of the commit.
//
//   node packaging/package.mjs [--only npm,client,executable,deb,image] [--out FOLDER] [--source FOLDER] [--base IMAGE]
//     [--node FILE]
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { buildClientPackage } from './client-package.mjs'
import { buildDebianPackage } from './debian.mjs'
import { buildExecutable, givenNode, pinnedNode } from './executable.mjs'
import { buildImage } from './image.mjs'
import { buildNpmPackage } from './npm-package.mjs'
import { writeLicenses, writeParts } from './parts.mjs'
import { requirePrograms } from './programs.mjs'

const KINDS = ['npm', 'client', 'executable', 'deb', 'image']

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: KINDS.join(',') },
    out: { type: 'string', default: 'dist' },
    source: { type: 'string', default: join(import.meta.dirname, '..') },
    base: { type: 'string' },
    node: { type: 'string' },
  },
})
const wanted = values.only.split(',')
const unknown = wanted.find((kind) => !KINDS.includes(kind))
if (unknown !== undefined) throw new Error(`--only takes ${KINDS.join(', ')}, not ${unknown}`)
requirePrograms(wanted)

const root = resolve(values.source)
const out = resolve(values.out)
const node = values.node === undefined ? pinnedNode(root) : givenNode(values.node)
const work = join(out, 'work')
rmSync(out, { recursive: true, force: true })
mkdirSync(work, { recursive: true })

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const committed = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' })
const parts = { root, out, work, version, base: values.base, node, builtAtSeconds: Number(committed) }
const licenses = writeLicenses(parts)
writeParts(parts)
if (wanted.includes('npm')) buildNpmPackage(parts)
if (wanted.includes('client')) await buildClientPackage(parts)
const needsExecutable = wanted.some((kind) => kind !== 'npm' && kind !== 'client')
const executable = needsExecutable ? await buildExecutable(parts) : undefined
if (wanted.includes('deb')) buildDebianPackage({ ...parts, executable, licenses })
if (wanted.includes('image')) buildImage({ ...parts, executable, licenses })
rmSync(work, { recursive: true, force: true })

const sums = []
for (const name of readdirSync(out).sort()) {
  const hash = createHash('sha256')
  await pipeline(createReadStream(join(out, name)), hash)
  sums.push(`${hash.digest('hex')}  ${name}\n`)
  console.log(`${(statSync(join(out, name)).size / 1e6).toFixed(1).padStart(7)} MB  ${basename(out)}/${name}`)
}
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
