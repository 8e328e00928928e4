// Set-up installs packages without running what they bring.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const SETUP = join(import.meta.dirname, '..', 'scripts', 'setup.mjs')

test('set-up installs a package, and runs none of its scripts', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const write = (name: string, content: unknown) => writeFileSync(join(folder, name), JSON.stringify(content))
  for (const name of ['scripts', 'library']) mkdirSync(join(folder, name))
  cpSync(SETUP, join(folder, 'scripts', 'setup.mjs'))
  writeFileSync(join(folder, 'scripts', 'build-pages.mjs'), '')
  const ran = join(folder, 'ran')
  const scripts = { postinstall: `node -e "fs.writeFileSync('${ran}', '')"` }
  const itself = { name: 'clone', version: '1.0.0', dependencies: { library: 'file:library' } }
  const packages = {
    '': itself,
    library: { version: '1.0.0', hasInstallScript: true },
    'node_modules/library': { resolved: 'library', link: true },
  }
  write('library/package.json', { name: 'library', version: '1.0.0', scripts })
  write('package.json', itself)
  write('package-lock.json', { name: 'clone', version: '1.0.0', lockfileVersion: 3, requires: true, packages })
  const { status, stderr } = spawnSync(process.execPath, ['scripts/setup.mjs'], { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.ok(existsSync(join(folder, 'node_modules', 'library', 'package.json')))
  assert.ok(!existsSync(ran))
})
