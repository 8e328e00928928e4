// The machines of a cluster, as the programs on them see one: each has a network and folders of its own. All are joined by a
// switch, and each has a second cable to the test, so that it can be cut off from the others and still be asked.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'

const SWITCH = 'switch'
/** The folders that Debian's packages use, on no other machine's disk. */
const OWN_FOLDERS = 'mount -t tmpfs none /run && mkdir -m 777 /run/postgresql && mount --bind "$1" /var/lib/postgresql'

/** In a network namespace of the test's own: the switch, to which the test itself is joined, too. */
export function layNetwork(): void {
  ip('link set lo up')
  ip(`link add ${SWITCH} type bridge`)
  ip('addr add 10.10.0.254/24 dev switch')
  ip(`link set ${SWITCH} up`)
}

export class Machine {
  readonly number: number
  readonly #holder: ChildProcess
  readonly #folder: string

  private constructor(number: number, holder: ChildProcess, folder: string) {
    this.number = number
    this.#holder = holder
    this.#folder = folder
  }

  static async start(number: number, folder: string): Promise<Machine> {
    const disk = join(folder, 'postgresql')
    mkdirSync(disk, { recursive: true })
    execFileSync('chown', ['postgres:postgres', disk])
    // Holds the namespaces for as long as this process lives.
    const script = `${OWN_FOLDERS} && echo ready && exec cat`
    const holder = spawn('unshare', ['--net', '--mount', 'sh', '-c', script, 'sh', disk], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await once(holder.stdout as NonNullable<typeof holder.stdout>, 'data')
    const machine = new Machine(number, holder, folder)
    machine.#connect()
    return machine
  }

  get name(): string {
    return `node${this.number}`
  }

  /** On the network of the cluster. */
  get address(): string {
    return `10.10.0.${this.number}`
  }

  /** On the second cable, which is never cut. */
  get directAddress(): string {
    return `10.20.${this.number}.2`
  }

  get disk(): string {
    return join(this.#folder, 'postgresql')
  }

  /** Its packets reach no other machine; no connection is closed or refused. */
  cutOff(): void {
    ip(`link set ${this.#port} nomaster`)
  }

  rejoin(): void {
    ip(`link set ${this.#port} master ${SWITCH}`)
  }

  /** A program on this machine; its output is in a file of that name. */
  spawn(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const log = openSync(join(this.#folder, `${program}.log`), 'a')
    return spawn('nsenter', [...this.#inside, program, ...args], {
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...env },
    })
  }

  run(program: string, args: readonly string[]): string {
    const env = { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' }
    return execFileSync('nsenter', [...this.#inside, program, ...args], { env, encoding: 'utf8' })
  }

  get #port(): string {
    return `port${this.number}`
  }

  /** As the user of the Debian package: PostgreSQL refuses to run as root. */
  get #inside(): string[] {
    return [...this.#namespaces, ...POSTGRES_USER]
  }

  get #namespaces(): string[] {
    const folder = `/proc/${this.#holder.pid}/ns`
    return [`--net=${folder}/net`, `--mount=${folder}/mnt`]
  }

  #connect(): void {
    const { number } = this
    this.#cable(this.#port, 'eth0', this.address)
    this.rejoin()
    this.#cable(`direct${number}`, 'eth1', this.directAddress)
    ip(`addr add 10.20.${number}.1/24 dev direct${number}`)
    execFileSync('nsenter', [...this.#namespaces, 'ip', 'link', 'set', 'lo', 'up'])
  }

  #cable(near: string, far: string, address: string): void {
    ip(`link add ${near} type veth peer name ${far} netns ${this.#holder.pid}`)
    ip(`link set ${near} up`)
    for (const command of [`addr add ${address}/24 dev ${far}`, `link set ${far} up`]) {
      execFileSync('nsenter', [...this.#namespaces, 'ip', ...command.split(' ')])
    }
  }
}

const POSTGRES_USER = ['--setuid', idOf('-u'), '--setgid', idOf('-g')]

function idOf(which: '-u' | '-g'): string {
  return execFileSync('id', [which, 'postgres'], { encoding: 'utf8' }).trim()
}

function ip(command: string): void {
  execFileSync('ip', command.split(' '))
}
