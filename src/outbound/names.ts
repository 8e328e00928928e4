// Names of what this process asks or sends to. Not by `dns.lookup`: it holds one of four threads, which all names and files share, until
// the system gives up, and cannot be cancelled. So names for which nobody answers would stop everything else.
import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP, type LookupFunction } from 'node:net'
import { FairQueue, type QueuedCall } from '../storage/fair-queue.ts'

/** From the call on. What has been found by then counts. */
const DEADLINE_MS = 5_000
/** Of the first question, of three; each further one may take twice as long. */
const FIRST_TIMEOUT_MS = 1_000
/** Names that are being resolved at the same time. An account's own never wait for each other's slots in dispatch.ts. */
const BOUNDS = { running: 256, runningPerAccount: 8, waiting: 4_000, waitingPerAccount: 100 }
/** What the operator has set takes turns with the accounts under this name, which is no account's id. */
const OPERATOR = ''
/** As many as the C library reads. */
const MAX_SEARCHED = 6

export interface Resolved {
  readonly address: string
  readonly family: number
}

export interface NameSettings {
  /** With their ports, instead of those of the system. */
  readonly servers?: readonly string[]
  /** Files of the system. */
  readonly hosts?: string
  readonly resolvConf?: string
}

/** The name is not there, as far as anybody says. */
const MISSING = ['ENOTFOUND', 'ENODATA', 'EBADNAME']

export class Names {
  readonly #settings: NameSettings
  readonly #queue = new FairQueue(BOUNDS)

  constructor(settings: NameSettings = {}) {
    this.#settings = settings
  }

  /** All addresses of a name. Rejects if there is none, after five seconds at the latest, or when the signal is aborted. */
  async resolve(hostname: string, accountId: string, signal?: AbortSignal): Promise<readonly Resolved[]> {
    const deadline = AbortSignal.timeout(DEADLINE_MS)
    const end = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
    end.throwIfAborted()
    const leave = await this.#takeTurn(accountId, end)
    try {
      return await this.#find(hostname.toLowerCase().replace(/\.$/, ''), hostname.endsWith('.'), end)
    } finally {
      leave()
    }
  }

  /** For connections to what the operator has set. */
  readonly lookup: LookupFunction = (hostname, options, callback) => {
    this.resolve(hostname, OPERATOR).then(
      (found) => answerLookup(found, options, callback),
      (error) => callback(error, [], 0),
    )
  }

  #takeTurn(account: string, end: AbortSignal): Promise<() => void> {
    const { promise, resolve, reject } = Promise.withResolvers<() => void>()
    const tooMany = () => reject(failed('EBUSY', 'too many names are being resolved'))
    const call: QueuedCall = {
      account,
      isGone: () => end.aborted,
      start: () => resolve(() => this.#queue.leave(call)),
      drop: tooMany,
    }
    end.addEventListener('abort', tooMany, { once: true })
    if (!this.#queue.enter(call)) tooMany()
    return promise
  }

  async #find(name: string, isComplete: boolean, end: AbortSignal): Promise<readonly Resolved[]> {
    const own = await this.#findOwn(name)
    if (own.length > 0) return own
    // Of its own, so that cancelling ends this question alone, and as the system is set up now.
    const resolver = new Resolver({ timeout: FIRST_TIMEOUT_MS, tries: 3 })
    if (this.#settings.servers !== undefined) resolver.setServers(this.#settings.servers)
    const cancel = () => resolver.cancel()
    end.addEventListener('abort', cancel)
    try {
      for (const candidate of isComplete ? [name] : await this.#candidatesFor(name)) {
        const found = await askBoth(resolver, candidate)
        if (found.length > 0) return found
      }
      throw failed('ENOTFOUND', `the name ${name} has no address`)
    } finally {
      end.removeEventListener('abort', cancel)
    }
  }

  /** What this machine knows by itself. */
  async #findOwn(name: string): Promise<readonly Resolved[]> {
    const found = (await linesOf(this.#settings.hosts ?? '/etc/hosts'))
      .filter(([, ...names]) => names.some((each) => each.toLowerCase() === name))
      .map(([address = '']) => withFamily(address))
    const isLocal = name === 'localhost' || name.endsWith('.localhost')
    return found.length === 0 && isLocal ? ['127.0.0.1', '::1'].map(withFamily) : found
  }

  /** In the domains that are searched here, such as those of a cluster: a name with few dots first there. */
  async #candidatesFor(name: string): Promise<readonly string[]> {
    const lines = await linesOf(this.#settings.resolvConf ?? '/etc/resolv.conf')
    const domains = lines.findLast(([word]) => word === 'search' || word === 'domain')?.slice(1, 1 + MAX_SEARCHED) ?? []
    const [, least = '1'] = /\boptions\b.*\bndots:(\d+)/.exec(lines.map((words) => words.join(' ')).join('\n')) ?? []
    const searched = domains.map((domain) => `${name}.${domain.replace(/\.$/, '')}`)
    return name.split('.').length > Number(least) ? [name, ...searched] : [...searched, name]
  }
}

/** Answers as `dns.lookup` does. */
export function answerLookup(
  found: readonly Resolved[],
  { all }: Parameters<LookupFunction>[1],
  callback: Parameters<LookupFunction>[2],
): void {
  const [first] = found as [Resolved]
  if (all) callback(null, [...found])
  else callback(null, first.address, first.family)
}

/** Nothing, if the name does not exist. Rejects if neither question has an answer. */
async function askBoth(resolver: Resolver, name: string): Promise<readonly Resolved[]> {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  if (found.length > 0) return found.map(withFamily)
  for (const answer of answers) {
    if (answer.status === 'fulfilled') continue
    const { code = '' } = answer.reason as NodeJS.ErrnoException
    const isLate = code === 'ECANCELLED'
    if (!MISSING.includes(code)) throw failed(isLate ? 'ETIMEOUT' : code, `nobody says what the address of ${name} is`)
  }
  return []
}

const withFamily = (address: string): Resolved => ({ address, family: isIP(address) })

const failed = (code: string, message: string) => Object.assign(new Error(message), { code })

/** The words of each line. A file that is not there has none. */
async function linesOf(path: string): Promise<string[][]> {
  const text = await readFile(path, 'utf8').catch(() => '')
  return text.split('\n').map((line) =>
    line
      .replace(/[#;].*/, '')
      .trim()
      .split(/\s+/),
  )
}
