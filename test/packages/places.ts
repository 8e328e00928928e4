// Places to install packages in: empty folders, a Debian system of its own, the file system of the image.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, cpSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { plainEnv, plainPath, work } from './build.ts'
import type { Place } from './walk.ts'

function emptyFolder(name: string): string {
  const folder = join(work, name)
  mkdirSync(folder)
  return folder
}

/** With the Node.js of the machine; npm brings the pinned one. `data` is the folder of the store, if not its own. */
export function npmPlace(tarball: string, name: string, data?: string): Place {
  const cwd = emptyFolder(name)
  copyFileSync(tarball, join(cwd, basename(tarball)))
  const settings = data === undefined ? {} : { LATCHKEY_DATA_DIR: data }
  const command = ['npx', '--yes', `./${basename(tarball)}`]
  return { name, command, cwd, env: { ...plainEnv, ...settings }, backup: join(cwd, 'backup') }
}

/** Nothing is on its path: there is no Node.js, and no other program. */
export function executablePlace(executable: string, name: string, data?: string): Place {
  const cwd = emptyFolder(name)
  copyFileSync(executable, join(cwd, 'latchkey'))
  chmodSync(join(cwd, 'latchkey'), 0o755)
  const settings = data === undefined ? {} : { LATCHKEY_DATA_DIR: data }
  const env = { PATH: '/nonexistent', ...settings }
  return { name, command: [join(cwd, 'latchkey')], cwd, env, backup: join(cwd, 'backup') }
}

/** A program in a root folder of its own, in a mount namespace that ends with it. The network is the machine's. */
const inside = (root: string, writable: boolean) => ['bwrap', writable ? '--bind' : '--ro-bind', root, '/']

const NEEDED = ['adduser', 'init-system-helpers', 'libatomic1', 'libgcc-s1', 'libstdc++6', 'openssl']

/** A Debian system in a folder. All of the machine but that folder is read-only while it is made. */
export class DebianSystem {
  readonly root: string

  constructor(name: string) {
    const folder = emptyFolder(name)
    this.root = join(folder, 'root')
    mkdirSync(join(folder, 'tmp'))
    const codename = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable'
    const sources = ['/etc/apt/sources.list', ...globSync('/etc/apt/sources.list.d/*.{list,sources}')].filter(
      (file) => existsSync(file) && /^(deb |URIs:)/m.test(readFileSync(file, 'utf8')),
    )
    execFileSync(
      'bwrap',
      [
        ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--bind', folder, folder, '--cap-add', 'ALL'],
        ...[
          '--setenv',
          'TMPDIR',
          join(folder, 'tmp'),
          '--',
          'mmdebstrap',
          '--mode=root',
          '--variant=minbase',
          '--quiet',
        ],
        ...[`--include=${NEEDED.join(',')}`, codename, this.root, ...sources],
      ],
      { stdio: ['ignore', 'ignore', 'inherit'] },
    )
  }

  get #command(): readonly string[] {
    return [...inside(this.root, true), '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/run', '--cap-add', 'ALL', '--']
  }

  run(...args: string[]): string {
    const [program = '', ...rest] = [...this.#command, ...args]
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' }
    return execFileSync(program, rest, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'pipe'] })
  }

  /** A shell command of the service's user, in its folder. */
  asService(script: string): void {
    const user = ['setpriv', '--reuid=latchkey', '--regid=latchkey', '--clear-groups']
    this.run(...user, 'sh', '-ec', `cd /var/lib/latchkey\n${script}`)
  }

  install(file: string): void {
    copyFileSync(file, join(this.root, 'package.deb'))
    this.run('dpkg', '-i', '/package.deb')
  }

  /** As the service: `latchkey-admin` takes its user, settings and master key. */
  place(name: string): Place {
    return {
      name,
      command: [...this.#command, 'latchkey-admin'],
      cwd: work,
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      backup: '/var/lib/latchkey/walk.lkb',
      set: (settings) => {
        const lines = Object.entries(settings).map(([key, value]) => `${key}=${value}\n`)
        writeFileSync(join(this.root, 'etc/latchkey/latchkey.env'), lines.join(''))
      },
    }
  }
}

/** Images and containers live below the folder, as plain copies: that works without overlay file systems. */
function buildahIn(folder: string): (...args: string[]) => string {
  const env = { ...process.env, TMPDIR: folder }
  const where = ['--storage-driver', 'vfs', '--root', join(folder, 'storage'), '--runroot', join(folder, 'run')]
  return (...args) => execFileSync('buildah', [...where, ...args], { env, encoding: 'utf8' })
}

/** The files of the image, with the user that it names, a read-only root, and one volume. */
export function imagePlace(archive: string, data: string) {
  const folder = emptyFolder('image')
  const buildah = buildahIn(folder)
  const container = buildah('from', `oci-archive:${archive}`).trim()
  const config = JSON.parse(buildah('inspect', container)).OCIv1.config
  const ran = buildah('run', '--isolation', 'chroot', container, '--', '/usr/bin/latchkey', '--version').trim()
  const root = join(folder, 'root')
  cpSync(buildah('mount', container).trim(), root, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
  })
  // As every engine does: the image needs no folder to mount them on.
  for (const name of ['dev', 'proc']) mkdirSync(join(root, name), { recursive: true })
  buildah('rm', container)
  const [uid = '', gid = ''] = String(config.User).split(':')
  for (const path of [work, folder, root]) chmodSync(path, 0o755)
  const user = ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--']
  const volume = ['--bind', data, '/var/lib/latchkey', '--chdir', '/var/lib/latchkey']
  // Its own name space for users: without it only root could change the root folder.
  const system = ['--dev', '/dev', '--ro-bind', '/proc', '/proc']
  const sandbox = [...inside(root, false), ...system, ...volume, '--unshare-user', '--']
  const env = Object.fromEntries((config.Env as string[]).map((each) => each.split('=', 2)))
  const command = [...user, ...sandbox, ...config.Entrypoint]
  const place: Place = {
    name: 'image',
    command,
    cwd: '/',
    env: { ...env, PATH: plainPath },
    backup: '/var/lib/latchkey/b',
  }
  const ownData = () => void execFileSync('chown', ['-R', `${uid}:${gid}`, data])
  return { place, config: config as Readonly<Record<string, unknown>>, ran, ownData }
}
