// The same walk through every package: serve, create, verify, disable, refused, backup, restore, several processes.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** Where a package is installed, and how its commands are run there. */
export interface Place {
  readonly name: string
  /** The program and what comes before the arguments of a command. */
  readonly command: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** A path that does not exist yet, for a backup; as the place sees it. */
  readonly backup: string
  /** Its settings come from elsewhere: `set` changes them. */
  readonly set?: (settings: Readonly<Record<string, string>>) => void
}

export interface Serving {
  readonly url: string
  readonly readyMs: number
  readonly printed: () => string
  /** Ends it with a signal, and requires that it says that all was served. */
  stop(): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came back
type Json = any

const running = new Set<ChildProcess>()

/** Ends what a test that failed has left running. */
export function endAll(): void {
  for (const child of running) process.kill(-(child.pid as number), 'SIGKILL')
}

function start(place: Place, args: readonly string[], settings: Readonly<Record<string, string>>): ChildProcess {
  const [program = '', ...first] = place.command
  place.set?.(settings)
  // A group of its own: npx passes no signal on to what it runs.
  const options = { cwd: place.cwd, env: { ...place.env, ...settings }, detached: true } as const
  const child = spawn(program, [...first, ...args], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

export async function command(
  place: Place,
  ...args: string[]
): Promise<{ code: number | null; out: string; err: string }> {
  const child = start(place, args, {})
  let [out, err] = ['', '']
  child.stdout?.on('data', (chunk) => (out += chunk))
  child.stderr?.on('data', (chunk) => (err += chunk))
  const [code] = await once(child, 'close')
  return { code, out, err }
}

async function json(place: Place, ...args: string[]): Promise<Json> {
  const { code, out, err } = await command(place, ...args, '--json')
  assert.equal(code, 0, `${place.name}: latchkey ${args.join(' ')}\n${err}`)
  return JSON.parse(out)
}

export async function serve(place: Place, settings: Readonly<Record<string, string>> = {}, ...args: string[]) {
  const begun = performance.now()
  const child = start(place, ['serve', ...args], { PORT: '0', ...settings })
  const closed = once(child, 'close')
  let printed = ''
  const ready = new Promise<string>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      printed += chunk
      const url = /ready at (http:\/\/\S+)/.exec(printed)?.[1]
      if (url !== undefined) resolve(url)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    void closed.then(([code]) => reject(new Error(`${place.name}: serve ended with ${code}:\n${printed}`)))
  })
  const url = (await ready).replace('0.0.0.0', '127.0.0.1')
  const serving: Serving = {
    url,
    readyMs: Math.round(performance.now() - begun),
    printed: () => printed,
    async stop() {
      process.kill(-(child.pid as number), 'SIGTERM')
      await closed
      assert.match(printed, /"msg":"stopped"/, place.name)
    },
  }
  return serving
}

export interface Estate {
  readonly key: string
  readonly kept: { readonly id: string; readonly credential: string }
  readonly disabled: { readonly id: string; readonly credential: string }
}

/** With the command line alone. */
export async function create(place: Place): Promise<Estate> {
  const account = await json(place, 'account', 'create', '--name', 'Walk')
  const { key } = await json(place, 'key', 'create', '--account', account._id)
  const details = ['--name', 'S', '--email', 's@x.example', '--company-name', 'C']
  const { _id } = await json(place, 'sub-account', 'create', '--account', account._id, ...details)
  const [kept, disabled] = [
    await json(place, 'token', 'create', '--sub-account', _id, '--name', 'kept'),
    await json(place, 'token', 'create', '--sub-account', _id, '--name', 'disabled'),
  ]
  const tokenOf = ({ _id, token }: Json) => ({ id: _id, credential: token })
  return { key, kept: tokenOf(kept), disabled: tokenOf(disabled) }
}

export async function verdict(url: string, credential: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/verify`, { headers: { authorization: `Bearer ${credential}` } })
  return answer.status
}

export async function disable(url: string, { key, disabled }: Estate): Promise<void> {
  const answer = await fetch(`${url}/api/v1/apiClient/token/${disabled.id}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"status":"inactive"}',
  })
  assert.equal(answer.status, 200)
}

export async function requireOneOfEach(url: string, { kept, disabled }: Estate): Promise<void> {
  assert.equal(await verdict(url, kept.credential), 204)
  assert.equal(await verdict(url, disabled.credential), 401)
}

/** Every file that a browser asks for, of the console and of the page of the API. */
async function browse(url: string): Promise<void> {
  for (const page of ['/console/', '/docs/']) {
    const html = await (await fetch(url + page)).text()
    const files = [...html.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, file = '']) => new URL(file, url + page))
    assert.ok(files.length > 1, `${page} names its files`)
    for (const file of files) assert.equal((await fetch(file)).status, 200, file.pathname)
  }
}

/** Returns how long the first start took, with an empty store. */
export async function walk(place: Place): Promise<{ readyMs: number; estate: Estate }> {
  const estate = await create(place)
  const first = await serve(place)
  await browse(first.url)
  assert.equal(await verdict(first.url, estate.disabled.credential), 204)
  assert.equal((await command(place, 'backup', place.backup)).code, 0)
  await disable(first.url, estate)
  await requireOneOfEach(first.url, estate)
  await first.stop()

  // The backup is of a time when the token was not disabled yet; the journal of revocations knows better.
  const { replayed } = await json(place, 'restore', place.backup, '--replace')
  assert.ok(replayed >= 1)
  assert.equal((await json(place, 'doctor')).healthy, true)
  const several = await serve(place, { LATCHKEY_WORKERS: '2' })
  await requireOneOfEach(several.url, estate)
  await several.stop()
  return { readyMs: first.readyMs, estate }
}

/** A store that the version before has made, with one token disabled, served by this version. */
export async function upgrade(before: Place, after: Place, between: () => void = () => {}): Promise<void> {
  const estate = await create(before)
  const old = await serve(before)
  await disable(old.url, estate)
  await requireOneOfEach(old.url, estate)
  await old.stop()
  between()
  const now = await serve(after)
  await requireOneOfEach(now.url, estate)
  await now.stop()
}
