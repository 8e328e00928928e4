// The real gateway programs: each with the file of docs/gateways, on ports of its own, in a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export const DOCS = join(import.meta.dirname, '..', '..', 'docs')

export interface Ports {
  readonly gateway: number
  readonly app: number
  readonly latchkey: number
}

export interface GatewayKind {
  readonly name: string
  readonly program: string
  /** What an administrator types to get it. */
  readonly install: string
  /** Of docs/gateways; each is copied with the ports of the test in place of its own. */
  readonly files: readonly string[]
  /** What belongs to the machine and not to the documentation: written beside the copies. */
  readonly around?: Readonly<Record<string, string>>
  readonly args: (folder: string) => readonly string[]
}

// As root its workers would be another user, who may not enter the folder.
const NGINX_USER = process.getuid?.() === 0 ? 'user root;' : ''

export const GATEWAYS: readonly GatewayKind[] = [
  {
    name: 'nginx',
    program: 'nginx',
    install: 'apt-get install nginx',
    files: ['nginx.conf'],
    around: {
      'around.conf': `${NGINX_USER} daemon off; pid nginx.pid; error_log stderr warn; events {}
        http {
          types { text/html html; } access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
          uwsgi_temp_path uwsgi; scgi_temp_path scgi;
          include nginx.conf;
        }`,
    },
    args: (folder) => ['-p', folder, '-e', 'stderr', '-c', join(folder, 'around.conf')],
  },
  {
    name: 'Caddy',
    program: 'caddy',
    install: 'apt-get install caddy',
    files: ['Caddyfile'],
    around: { around: '{\n admin off\n auto_https off\n}\nimport Caddyfile\n' },
    args: (folder) => ['run', '--config', join(folder, 'around'), '--adapter', 'caddyfile'],
  },
  {
    name: 'HAProxy',
    program: 'haproxy',
    install: 'apt-get install haproxy',
    files: ['haproxy.cfg', 'latchkey.lua'],
    args: (folder) => ['-db', '-f', join(folder, 'haproxy.cfg')],
  },
]

/** The addresses in the documentation, and whose port the test puts in their place. */
const DOCUMENTED: readonly (readonly [text: string, whose: keyof Ports])[] = [
  [':8080', 'gateway'],
  [':9000', 'app'],
  [':3000', 'latchkey'],
]

function fill(text: string, ports: Ports, folder: string): string {
  let filled = text
  for (const [documented, whose] of DOCUMENTED) filled = filled.replaceAll(documented, `:${ports[whose]}`)
  return filled
    .replaceAll('/etc/haproxy/latchkey.lua', join(folder, 'latchkey.lua'))
    .replaceAll('abns@latchkey-verify', `abns@latchkey-verify-${ports.gateway}`)
}

export class Gateway {
  readonly url: string
  readonly #folder: string
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  #said = ''

  private constructor(kind: GatewayKind, ports: Ports) {
    this.url = `http://127.0.0.1:${ports.gateway}`
    const program = locate(kind)
    this.#folder = mkdtempSync(join(tmpdir(), 'latchkey-gateway-'))
    for (const file of kind.files) {
      const text = readFileSync(join(DOCS, 'gateways', file), 'utf8')
      writeFileSync(join(this.#folder, file), fill(text, ports, this.#folder))
    }
    for (const [file, text] of Object.entries(kind.around ?? {})) writeFileSync(join(this.#folder, file), text)
    const home = join(this.#folder, 'home')
    mkdirSync(home)
    this.#child = spawn(program, kind.args(this.#folder), {
      cwd: this.#folder,
      env: { ...process.env, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#exited = once(this.#child, 'close')
    const listen = (chunk: Buffer) => {
      this.#said += chunk
    }
    this.#child.stdout?.on('data', listen)
    this.#child.stderr?.on('data', listen)
  }

  static async start(kind: GatewayKind, ports: Ports): Promise<Gateway> {
    const gateway = new Gateway(kind, ports)
    while (!(await isListening(ports.gateway))) {
      if (!gateway.isRunning) {
        await gateway.stop()
        throw new Error(`${kind.name} ended: ${gateway.said}`)
      }
      await pause(10)
    }
    return gateway
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** The last of what it wrote to its output, for the message of a failure. */
  get said(): string {
    return this.#said.slice(-2_000)
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#exited
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Programs of administrators are often not on a user's PATH. */
function locate({ name, program, install }: GatewayKind): string {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin', '/sbin']
  const found = folders.map((folder) => join(folder, program)).find(isExecutable)
  if (found === undefined) throw new Error(`${name} is not on this machine. Install it: ${install}`)
  return found
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Different from each other, since all are held until the last is known. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as { port: number }).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
