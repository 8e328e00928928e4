// The container image, built by buildah from deploy/container/Containerfile. Its base comes from Debian packages, unless
// another one is named.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the executable needs of a system, and nothing else: no shell, no package manager. */
const BASE_PACKAGES = ['base-files', 'libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1']
const BASE_FILES = ['lib', 'lib64', 'usr/lib', 'usr/lib64', 'usr/share/doc', 'etc/debian_version', 'etc/os-release']
/** Conversions between character sets, which Node.js has itself; what is no license. */
const BASE_OMITTED = [
  'gconv',
  'usr/share/doc/*/changelog*',
  'usr/share/doc/*/NEWS*',
  'usr/share/doc/*/README*',
  'lib/systemd',
]
export function buildImage({ root, out, work, version, builtAtSeconds, executable, licenses, base }) {
  const folder = join(work, 'image')
  rmSync(folder, { recursive: true, force: true })
  const context = join(folder, 'context')
  mkdirSync(join(context, 'data'), { recursive: true })
  chmodSync(join(context, 'data'), 0o700)
  copyFileSync(executable, join(context, 'latchkey'))
  chmodSync(join(context, 'latchkey'), 0o755)
  copyFileSync(licenses, join(context, 'third-party-licenses.txt'))

  const buildah = buildahIn(folder)
  const name = `localhost/latchkey:${version}`
  const times = ['--timestamp', String(builtAtSeconds)]
  if (base === undefined) makeBase(folder, buildah, builtAtSeconds)
  const from = base ?? 'localhost/latchkey-base'
  const file = join(root, 'deploy/container/Containerfile')
  const values = ['--build-arg', `BASE=${from}`, '--build-arg', `VERSION=${version}`]
  buildah('build', ...times, '--format', 'oci', ...values, '-t', name, '-f', file, context)
  const layout = join(folder, 'layout')
  buildah('push', '--quiet', name, `oci:${layout}:${name}`)
  const archive = join(out, `latchkey-${version}.oci.tar`)
  pack(layout, archive, builtAtSeconds, ['oci-layout', 'index.json', 'blobs'])
  return archive
}

/** Images and containers live in a folder of their own, as plain copies: that works without overlay file systems. */
function buildahIn(folder) {
  mkdirSync(join(folder, 'tmp'), { recursive: true })
  const env = { ...process.env, TMPDIR: join(folder, 'tmp') }
  const where = ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
  return (...args) =>
    execFileSync('buildah', [...where, ...args], { env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** The packages are only unpacked, and nothing of them is run. All of the machine but the folder is read-only meanwhile. */
function makeBase(folder, buildah, builtAtSeconds) {
  const [context, system] = [join(folder, 'base'), join(folder, 'system')]
  mkdirSync(context)
  const codename = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))[1]
  execFileSync(
    'bwrap',
    [
      ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--bind', folder, folder, '--cap-add', 'ALL'],
      ...['--setenv', 'TMPDIR', join(folder, 'tmp'), '--'],
      ...['mmdebstrap', '--mode=chrootless', '--variant=extract', '--skip=cleanup', '--format=directory', '--quiet'],
      ...[`--include=${BASE_PACKAGES.join(',')}`, codename, system, ...aptSources()],
    ],
    { stdio: ['ignore', 'ignore', 'ignore'] },
  )
  const kept = BASE_FILES.filter((name) => existsSync(join(system, name)))
  pack(system, join(context, 'base.tar'), builtAtSeconds, [...BASE_OMITTED.map((name) => `--exclude=${name}`), ...kept])
  writeFileSync(join(context, 'Containerfile'), 'FROM scratch\nADD base.tar /\n')
  buildah('build', '--timestamp', String(builtAtSeconds), '-t', 'localhost/latchkey-base', context)
}

/** The same files give the same bytes. */
function pack(folder, archive, seconds, names) {
  const same = [
    '--sort=name',
    `--mtime=@${seconds}`,
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mode=u+w,go-w,a+rX',
  ]
  execFileSync('tar', [...same, '-C', folder, '-cf', archive, ...names])
}

/** The sources of this machine: it may reach no others. */
function aptSources() {
  const files = ['/etc/apt/sources.list', ...globSync('/etc/apt/sources.list.d/*.{list,sources}').sort()]
  return files.filter((file) => existsSync(file) && /^(deb |URIs:)/m.test(readFileSync(file, 'utf8')))
}
