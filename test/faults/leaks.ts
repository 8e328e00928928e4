// 1,000 credentials in a long text with 100,000 look-alikes, through `latchkey leak`: all are switched off, nothing else is touched, and
// the memory does not grow with the text. `node test/faults/leaks.ts [megabytes]`, 1,000 unless given.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLatchkey } from '../../src/compose.ts'
import { readConfig } from '../../src/config.ts'
import { MAX_LIMIT } from '../../src/tokens/model/page.ts'
import { newCredential } from '../../src/tokens/trust/credential.ts'
import { chances, SEED } from '../support/seed.ts'

const [megabytes, LEAKED, BYSTANDERS, LOOK_ALIKES] = [Number(process.argv[2] ?? 1_000), 1_000, 9_000, 100_000]
const folder = mkdtempSync(join(tmpdir(), 'latchkey-leaks-'))
const file = join(folder, 'text')
const BIN = join(import.meta.dirname, '..', '..', 'bin', 'latchkey.mjs')
const chance = chances('leaks')
const pick = (among: number) => Math.floor(chance() * among)
const config = readConfig({ LATCHKEY_DATA_DIR: join(folder, 'data') })

const base64 = (text: string) => Buffer.from(text).toString('base64')
/** Imported credentials are found as whole words, ours also encoded. */
const WORDS: readonly ((credential: string) => string)[] = [
  (it) => `Authorization: Bearer ${it}`,
  (it) => JSON.stringify(JSON.stringify({ headers: { 'x-api-key': it } })),
  (it) => `GET /?key=${it}&page=2`,
]
const ENCODINGS: typeof WORDS = [
  ...WORDS,
  (it) => `GET /?to=${encodeURIComponent(`https://x.example/?key=${it}&page=2`)}`,
  (it) => `Authorization: Basic ${base64(`user:${it}`)}`,
]

function encoded(credential: string, n: number): string {
  const ways = credential.startsWith('lk_') ? ENCODINGS : WORDS
  return (ways[n % ways.length] as (typeof WORDS)[number])(credential)
}

async function makeStore() {
  const { operator, store } = await openLatchkey(config)
  try {
    const { id: accountId } = await operator.createAccount('A')
    const [owner] = await operator.createSubAccounts(accountId, [{ name: 'S', email: 's@x.example', companyName: 'C' }])
    const make = async (count: number, name: string) => {
      const list = Array.from({ length: count }, (_, n) => {
        // Each tenth is an imported one.
        const credential = n % 10 === 0 ? `SG.${newCredential('tok').slice(7, 29)}/${n}-x` : newCredential('tok')
        return { accountId, subAccountId: owner?.id ?? '', name: `${name} ${n}`, credential }
      })
      return (await operator.createTokens(list)).map(({ id, credential }) => ({ id, credential }))
    }
    return { accountId, leaked: await make(LEAKED, 'Leaked'), bystanders: await make(BYSTANDERS, 'Bystander') }
  } finally {
    await store.close()
  }
}

type Estate = Awaited<ReturnType<typeof makeStore>>

/** One letter of a credential that exists is another one. */
function lookAlike({ bystanders }: Estate): string {
  const { credential } = bystanders[pick(bystanders.length)] as Estate['bystanders'][number]
  const at = 8 + pick(10)
  return `${credential.slice(0, at)}${credential[at] === 'x' ? 'y' : 'x'}${credential.slice(at + 1)}`
}

function writeText(estate: Estate): void {
  const special = [
    ...estate.leaked.map(({ credential }, n) => encoded(credential, n)),
    ...Array.from({ length: LOOK_ALIKES }, (_, n) => encoded(lookAlike(estate), n)),
  ]
  const log = (n: number) =>
    `10.1.${n % 250}.3 - - [18/Nov/2026:15:11:02 +0000] "GET /api/v1/users/${n}?page=7&sort=name HTTP/1.1" 200 ${n % 9_999} "https://x.example/path/${n}" "Mozilla/5.0 (X11; Linux x86_64)"\n`
  const descriptor = openSync(file, 'w')
  let [written, lines] = [0, 0]
  for (const [index, text] of special.toSorted(() => chance() - 0.5).entries()) {
    const until = (megabytes * 1e6 * (index + 1)) / special.length
    let part = `${text}\n`
    for (; written + part.length < until; lines++) part += log(lines)
    written += writeSync(descriptor, part)
  }
  closeSync(descriptor)
}

/** The most memory that a process has had, in bytes, and its processor time, in seconds. */
async function watch(child: ChildProcess) {
  let [memory, processor] = [0, 0]
  const look = () => {
    try {
      const [, kib] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? []
      memory = Math.max(memory, Number(kib ?? 0) * 1024)
      // After the name, which is in brackets; in hundredths of a second.
      const [user, system] =
        readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13) ?? []
      processor = (Number(user) + Number(system)) / 100
    } catch {
      // It has ended.
    }
  }
  const looking = setInterval(look, 100)
  await once(child, 'close')
  clearInterval(looking)
  return { memory, processor }
}

async function leak(accountId: string) {
  const env = { ...process.env, LATCHKEY_DATA_DIR: config.dataDir }
  const args = [BIN, 'leak', file, '--account', accountId, '--json']
  const began = performance.now()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'ignore'] })
  let printed = ''
  child.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const used = await watch(child)
  return { report: JSON.parse(printed), ...used, seconds: (performance.now() - began) / 1000 }
}

async function check({ accountId, leaked, bystanders }: Estate): Promise<void> {
  const { operator, registry, store } = await openLatchkey(config)
  try {
    const caller = operator.actFor(accountId)
    const off = new Set<string>()
    for (let page = 1; ; page++) {
      const { items } = await registry.listTokens(caller, { page, limit: MAX_LIMIT, status: 'inactive' })
      for (const { id } of items) off.add(id)
      if (items.length < MAX_LIMIT) break
    }
    assert.deepEqual(off, new Set(leaked.map(({ id }) => id)))
    const { total } = await registry.listHistory(caller, { page: 1, limit: 1, action: 'token.update' })
    assert.equal(total, leaked.length)
    const verdicts = await Promise.all(bystanders.map((each) => registry.verification.introspect(each.credential)))
    assert.ok(verdicts.every(({ accepted }) => accepted))
  } finally {
    await store.close()
  }
}

try {
  const estate = await makeStore()
  writeText(estate)
  const { report, memory, seconds, processor } = await leak(estate.accountId)
  assert.deepEqual([report.found.length, report.disabled], [LEAKED, LEAKED])
  await check(estate)
  console.log(
    `${megabytes} MB: ${LEAKED} found and switched off, ${LOOK_ALIKES} look-alikes and ${BYSTANDERS} others not.`,
  )
  console.log(
    `${seconds.toFixed(1)} s, ${processor.toFixed(1)} s of processor time, ${Math.round(memory / 1e6)} MB of memory at most. SEED=${SEED}`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
