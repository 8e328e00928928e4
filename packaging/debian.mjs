// The Debian package: the executable, its service, latchkey-admin, and the scripts that run when it comes and goes.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const TEMPLATES = join(import.meta.dirname, 'debian')
const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm']
const COMPILE_CACHE = [
  /^# Compiled code is kept.*\nCacheDirectory=.*\nCacheDirectoryMode=.*\nEnvironment=NODE_COMPILE_CACHE=.*\n/m,
  '',
]
/** What differs between a service that runs from a clone and one that runs from the package. */
const UNIT_CHANGES = {
  'latchkey.service': [
    [/^# Latchkey under systemd\..*$/m, '# Latchkey under systemd.'],
    [/^Documentation=.*$/m, 'Documentation=file:///usr/share/doc/latchkey/settings.md.gz'],
    [/^WorkingDirectory=.*$/m, 'WorkingDirectory=/var/lib/latchkey'],
    [/^ExecStart=.*$/m, 'ExecStart=/usr/bin/latchkey serve'],
    COMPILE_CACHE,
    ['but the two folders above', 'but the folder above'],
  ],
  'latchkey-sidecar.service': [
    [/ docs\/guides\/verifier\.md has the steps\.$/m, ''],
    [/^Documentation=.*$/m, 'Documentation=file:///usr/share/doc/latchkey/verifier.md.gz'],
    [/^WorkingDirectory=.*$/m, 'WorkingDirectory=/run/latchkey-sidecar'],
    [/^ExecStart=\S+ \S+ sidecar/m, 'ExecStart=/usr/bin/latchkey sidecar'],
    COMPILE_CACHE,
    ['but the two folders above', 'but the folder above'],
  ],
}

export function buildDebianPackage({ root, out, work, version, builtAtSeconds, executable, licenses }) {
  const folder = join(work, 'deb')
  rmSync(folder, { recursive: true, force: true })
  const arch = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim()
  const put = (name, content, mode = 0o644) => {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
    chmodSync(file, mode)
  }
  const fill = (name, values) =>
    readFileSync(join(TEMPLATES, name), 'utf8').replaceAll(/@(\w+)@/g, (_all, key) => values[key])

  mkdirSync(join(folder, 'usr/bin'), { recursive: true })
  copyFileSync(executable, join(folder, 'usr/bin/latchkey'))
  chmodSync(join(folder, 'usr/bin/latchkey'), 0o755)
  put('usr/sbin/latchkey-admin', fill('latchkey-admin', {}), 0o755)
  for (const unit of Object.keys(UNIT_CHANGES)) put(`usr/lib/systemd/system/${unit}`, unitOf(root, unit))
  put('etc/latchkey/latchkey.env', fill('latchkey.env', {}), 0o600)
  put('usr/share/lintian/overrides/latchkey', fill('lintian-overrides', {}))
  const docs = 'usr/share/doc/latchkey'
  const license = indented(readFileSync(join(root, 'LICENSE'), 'utf8'))
  put(`${docs}/copyright`, fill('copyright', { license }))
  put(`${docs}/changelog.gz`, compressed(changelog(version, builtAtSeconds)))
  for (const page of globSync('docs/{operate/*,guides/verifier}.md', { cwd: root }).sort()) {
    put(`${docs}/${basename(page)}.gz`, compressed(readFileSync(join(root, page))))
  }
  put(`${docs}/third-party-licenses.gz`, compressed(readFileSync(licenses)))

  for (const [page, section] of [
    ['latchkey.1', 1],
    ['latchkey-admin.8', 8],
  ]) {
    put(`usr/share/man/man${section}/${page}.gz`, compressed(fill(page, {})))
  }

  const kilobytes = Math.ceil(filesIn(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0) / 1024)
  const sums = filesIn(folder).filter((name) => !name.startsWith('etc/'))
  put('DEBIAN/md5sums', sums.map((name) => `${md5(join(folder, name))}  ${name}\n`).join(''))
  put('DEBIAN/control', fill('control', { version, arch, kilobytes }))
  put('DEBIAN/conffiles', '/etc/latchkey/latchkey.env\n')
  for (const name of SCRIPTS) put(`DEBIAN/${name}`, fill(name, { version }), 0o755)

  chmodFolders(folder)
  const file = join(out, `latchkey_${version}_${arch}.deb`)
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(builtAtSeconds) }
  for (const name of globSync('**', { cwd: folder })) utimesSync(join(folder, name), builtAtSeconds, builtAtSeconds)
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', folder, file], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return file
}

/** Fails if the unit of a clone has changed so that a replacement finds nothing. */
export function unitOf(root, name = 'latchkey.service') {
  let unit = readFileSync(join(root, 'deploy/systemd', name), 'utf8')
  for (const [pattern, replacement] of UNIT_CHANGES[name]) {
    const changed = unit.replace(pattern, replacement)
    if (changed === unit) throw new Error(`deploy/systemd/${name} has nothing that matches ${pattern}`)
    unit = changed
  }
  return unit
}

function chmodFolders(folder) {
  for (const entry of globSync('**', { cwd: folder, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
  // postinst gives it to the server's group.
  chmodSync(join(folder, 'etc/latchkey'), 0o750)
}

function filesIn(folder) {
  return globSync('**', { cwd: folder })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort()
}

function changelog(version, seconds) {
  const date = new Date(seconds * 1000).toUTCString().replace('GMT', '+0000')
  return `latchkey (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- Latchkey maintainers <maintainers@latchkey.example>  ${date}\n`
}

function compressed(content) {
  return gzipSync(content, { level: 9 })
}

function indented(text) {
  return text.trim().replaceAll(/^$/gm, '.').replaceAll(/^/gm, ' ')
}

function md5(file) {
  return createHash('md5').update(readFileSync(file)).digest('hex')
}
