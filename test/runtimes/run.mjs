// Tries the package latchkey-client in the oldest Node.js that it is for, in Deno and in Bun, against the real service. Installs the
// runtimes once, from the package registry.
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildClientPackage } from '../../packaging/client-package.mjs'
import { openService } from '../client/world.ts'

const here = import.meta.dirname
const root = join(here, '..', '..')
const npm = (args, cwd) => execFileSync('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd })

// Without scripts: they would download what the packages of the registry contain.
if (!existsSync(join(here, 'node_modules'))) npm(['ci', '--ignore-scripts'], here)

const RUNTIMES = {
  'Node.js 20': ['node_modules/node-linux-*/bin/node'],
  Deno: ['node_modules/@deno/*/deno', 'run', '--allow-net'],
  Bun: ['node_modules/@oven/bun-linux-*/bin/bun'],
}

const folder = mkdtempSync(join(tmpdir(), 'latchkey-runtimes-'))
mkdirSync(join(folder, 'out'))
const file = await buildClientPackage({ root, out: join(folder, 'out'), work: join(folder, 'work') })
writeFileSync(join(folder, 'package.json'), '{"type":"module","private":true}')
npm(['install', '--offline', file], folder)
copyFileSync(join(root, 'test', 'client', 'smoke.mjs'), join(folder, 'smoke.mjs'))

const service = await openService()
let failed = 0
for (const [name, [pattern, ...args]] of Object.entries(RUNTIMES)) {
  const [binary] = globSync(pattern, { cwd: here })
  const command = [...args, 'smoke.mjs', service.url, service.accountKey]
  const { stdout = '', stderr = 'there is no package of it for this platform' } =
    binary === undefined
      ? {}
      : await promisify(execFile)(join(here, binary), command, { cwd: folder }).catch((error) => error)
  const isOk = stdout === 'ok\n'
  if (!isOk) failed++
  console.log(isOk ? `✔ ${name}` : `✖ ${name}: ${stdout}${stderr}`)
}
await service.close()
rmSync(folder, { recursive: true, force: true })
console.log(`${Object.keys(RUNTIMES).length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0
