// Builds every package into `dist`: npm packages of the service and of its client, executable, Debian package, container image, list of parts, checksums.
// Two builds of one commit give the same bytes: every time in them is the time of the commit.
//
// What else is in the folder stays there.
//
//   node packaging/package.mjs [--only npm,client,executable,deb,image] [--out FOLDER] [--source FOLDER] [--base IMAGE]
//     [--node FILE]
//
// RELEASE_REPOSITORY, RELEASE_BUGS and RELEASE_HOMEPAGE, where set, go into the npm packages (CONTRIBUTING.md).
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { addressesIn } from './addresses.mjs'
import { buildClientPackage } from './client-package.mjs'
import { buildDebianPackage } from './debian.mjs'
import { buildExecutable, givenNode, pinnedNode } from './executable.mjs'
import { putInto } from './folder.mjs'
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
const addresses = addressesIn(process.env)

const root = resolve(values.source)
const out = resolve(values.out)
const node = values.node === undefined ? pinnedNode(root) : givenNode(values.node)
const work = join(out, '.work')
const made = join(work, 'made')
rmSync(work, { recursive: true, force: true })
mkdirSync(made, { recursive: true })

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const committed = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: root, encoding: 'utf8' })
const builtAtSeconds = Number(committed)
const parts = { root, out: made, work, version, addresses, base: values.base, node, builtAtSeconds }
const licenses = writeLicenses(parts)
writeParts(parts)
if (wanted.includes('npm')) buildNpmPackage(parts)
if (wanted.includes('client')) await buildClientPackage(parts)
const needsExecutable = wanted.some((kind) => kind !== 'npm' && kind !== 'client')
const executable = needsExecutable ? await buildExecutable(parts) : undefined
if (wanted.includes('deb')) buildDebianPackage({ ...parts, executable, licenses })
if (wanted.includes('image')) buildImage({ ...parts, executable, licenses })

const isWhole = KINDS.every((kind) => wanted.includes(kind))
for (const { name, bytes } of await putInto(out, made, isWhole))
  console.log(`${(bytes / 1e6).toFixed(1).padStart(7)} MB  ${basename(out)}/${name}`)
rmSync(work, { recursive: true, force: true })
