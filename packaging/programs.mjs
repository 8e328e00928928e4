// The programs that building needs besides npm, and the Debian packages that have them.
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const PROGRAMS = {
  npm: { git: 'git', npm: 'npm' },
  executable: { strip: 'binutils' },
  deb: { strip: 'binutils', 'dpkg-deb': 'dpkg' },
  image: { strip: 'binutils', buildah: 'buildah', mmdebstrap: 'mmdebstrap', bwrap: 'bubblewrap', tar: 'tar' },
}

/** Programs of administrators are not on the path of every user. */
const FOLDERS = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']

export function isInstalled(program) {
  return FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

export function requirePrograms(kinds) {
  const needed = Object.assign({}, PROGRAMS.npm, ...kinds.map((kind) => PROGRAMS[kind]))
  const missing = Object.keys(needed).filter((program) => !isInstalled(program))
  if (missing.length === 0) return
  console.error(`Building ${kinds.join(', ')} needs ${missing.join(', ')}. On Debian, as root:`)
  console.error(`  apt-get install --no-install-recommends ${missing.map((program) => needed[program]).join(' ')}`)
  console.error('Fewer packages need less: npm run package -- --only npm,executable')
  process.exit(1)
}
