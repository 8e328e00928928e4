// What root does in the folder of the service's user when the package comes and goes, where that user has planted links. The
// packages have the real scripts and a small program in the place of the executable.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { removeWork, work } from './build.ts'
import { DebianSystem } from './places.ts'

const root = join(import.meta.dirname, '..', '..')
const DATA = '/var/lib/latchkey'
const { buildDebianPackage } = await import(join(root, 'packaging/debian.mjs'))
const PROGRAM = '#!/bin/sh\nif [ "$1" = backup ]; then : > "$2"; fi\n'

let system: DebianSystem
const at = (path: string) => join(system.root, path)

function packageOf(version: string): string {
  const [executable, licenses, out] = [join(work, 'program'), join(work, 'licenses'), join(work, version)]
  writeFileSync(executable, PROGRAM)
  writeFileSync(licenses, '')
  mkdirSync(out, { recursive: true })
  return buildDebianPackage({ root, out, work, version, builtAtSeconds: 1, executable, licenses })
}

/** Folders of root, with a file in each that nobody may delete. */
function foldersOfRoot(): void {
  for (const [folder, file] of [
    ['srv/kept', 'before-1.lkb'],
    ['srv/reports', 'report.json'],
  ] as const) {
    mkdirSync(at(folder), { recursive: true })
    writeFileSync(join(at(folder), file), 'kept')
  }
}

before(() => {
  system = new DebianSystem('links')
})

beforeEach(() => {
  for (const folder of ['srv', DATA]) rmSync(at(folder), { recursive: true, force: true })
  foldersOfRoot()
  system.install(packageOf('1.0'))
  system.asService(': > latchkey.db')
})

afterEach(() => system.run('dpkg', '--purge', 'latchkey'))

after(() => removeWork())

test('an upgrade gives no folder of root away, whatever the folder of backups is a link to', () => {
  system.asService('ln -s /srv/kept backups')
  assert.throws(() => system.install(packageOf('1.1')), /the backup has failed, so nothing was upgraded/)
  assert.equal(statSync(at('srv/kept')).uid, 0)
})

test('an upgrade deletes old backups, and no file that a folder among them names', () => {
  writeFileSync(at('precious'), 'kept')
  system.asService('mkdir -p backups/before-0.lkb && : > backups/before-0.lkb/precious')
  system.asService('for n in 0 1 2 3 4; do touch -d "2020-01-1$n" backups/before-$n.lkb; done')
  system.install(packageOf('1.1'))
  assert.ok(existsSync(at('precious')))
  const [first, second, ...newer] = readdirSync(at(`${DATA}/backups`)).sort()
  assert.equal(first, 'before-0.lkb')
  assert.match(second ?? '', /^before-1\.1-/)
  assert.deepEqual(newer, ['before-3.lkb', 'before-4.lkb'])
})

test('purging deletes the store, and nothing that a link in its folder leads to', () => {
  system.asService('ln -s /srv/kept backups; ln -s /srv/reports witness; ln -s /srv/kept/before-1.lkb revocations.log')
  system.run('dpkg', '--purge', 'latchkey')
  assert.deepEqual(readdirSync(at(DATA)).sort(), ['backups', 'witness'])
  for (const file of ['srv/reports/report.json', 'srv/kept/before-1.lkb']) assert.ok(existsSync(at(file)), file)
})
