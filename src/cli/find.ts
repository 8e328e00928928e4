// Finds leaked credentials in any text: who owns them, and how to end them.
import { fstatSync } from 'node:fs'
import { Readable } from 'node:stream'
import { type Command, CommanderError } from 'commander'
import type { Latchkey } from '../compose.ts'
import { Failure } from '../tokens/errors.ts'
import { type Candidate, LeakScanner } from '../tokens/leaks/scanner.ts'
import type { Holder } from '../tokens/operator.ts'
import { keyToWire } from '../wire/key.ts'
import type { OnStore } from './command.ts'
import type { Output, Streams, Table } from './output.ts'
import { type Progress, startBytes } from './progress.ts'
import * as views from './views.ts'

const NOTHING_FOUND = 3
/** Concurrent look-ups; on PostgreSQL they share round trips. */
const BATCH = 500
/** Words that are not looked up again when they repeat. */
const MAX_REMEMBERED = 200_000

/** In bytes. It is searched for credentials of any shape: to read the shapes of a large store would take longer. */
const SHORT_TEXT = 65_536

const HELP = `
Reads any text from standard input: a log, a .env file, JSON, a dump. Every word of it, and every part of a word between
punctuation, that can be a credential of this store is looked up. Credentials are never printed.

  latchkey find < leaked.txt
  git log -p | latchkey find --json

An imported credential that itself holds quotes, brackets, commas, semicolons, bars or backslashes is found only
between white space. One of fewer than eight characters is not found in UTF-16 without a byte order mark.

200 MB take some ten seconds. If an imported credential was rotated out and is still accepted, or was not stored, nothing is
known of its shape: every part of the text is then looked up, which takes a hundred times as long.

Exit codes: 0 something was found, 3 all of the input was read and nothing was found, 1 the search could not be completed.`

interface Found {
  readonly fields: views.View
  readonly row: Table[number]
  /** The command that ends it; null if it is already refused. */
  readonly toEnd: string | null
}

export function addFindCommand(program: Command, onStore: OnStore, streams: Streams): void {
  onStore(
    program
      .command('find')
      .description('find credentials and account keys in the text on standard input')
      .addHelpText('after', HELP),
    async (latchkey, _options, output) => {
      if (streams.stdin?.isTTY) streams.stderr.write('Paste the text, press Enter, then Ctrl-D.\n')
      const search = new Search(latchkey)
      const progress = startBytes(output, 'Reading', sizeOf(streams.stdin))
      await searchAll(streams.stdin ?? Readable.from([]), search, latchkey, progress).finally(() => progress.done())
      report(search, output)
      if (search.found.size === 0) throw new CommanderError(NOTHING_FOUND, 'latchkey.nothing-found', '')
    },
  )
}

async function searchAll(
  input: AsyncIterable<string | Uint8Array>,
  search: Search,
  { operator }: Latchkey,
  progress: Progress,
): Promise<void> {
  let [scanner, begun]: [LeakScanner | undefined, Buffer] = [undefined, Buffer.alloc(0)]
  for await (const chunk of input) {
    const bytes = Buffer.from(chunk as Uint8Array)
    begun = scanner === undefined ? Buffer.concat([begun, bytes]) : bytes
    if (scanner === undefined && begun.length <= SHORT_TEXT) continue
    scanner ??= new LeakScanner(await operator.readShapes())
    await search.add(scanner.scan(begun))
    progress.advance(begun.length)
  }
  if (scanner === undefined) {
    scanner = new LeakScanner('any')
    await search.add(scanner.scan(begun))
  }
  await search.add(scanner.end())
}

/** Undefined for a pipe, or a terminal. */
function sizeOf(input: unknown): number | undefined {
  const { fd } = (input ?? {}) as { readonly fd?: number }
  const found = fd === undefined ? undefined : fstatSync(fd)
  return found?.isFile() ? found.size : undefined
}

/** Looks candidates up in batches, each distinct one once. */
class Search {
  readonly #latchkey: Latchkey
  readonly #seen = new Set<string>()
  readonly found = new Map<string, Found>()
  candidates = 0

  constructor(latchkey: Latchkey) {
    this.#latchkey = latchkey
  }

  async add(candidates: Iterable<Candidate>): Promise<void> {
    let batch: Candidate[] = []
    for (const candidate of candidates) {
      if (this.#seen.has(candidate.text)) continue
      if (this.#seen.size === MAX_REMEMBERED) this.#seen.clear()
      this.#seen.add(candidate.text)
      batch.push(candidate)
      if (batch.length < BATCH) continue
      await this.#lookUp(batch)
      batch = []
    }
    if (batch.length > 0) await this.#lookUp(batch)
  }

  async #lookUp(batch: readonly Candidate[]): Promise<void> {
    this.candidates += batch.length
    const holders = await Promise.all(batch.map(({ text }) => this.#latchkey.operator.findHolder(text)))
    for (const [index, { text, line }] of batch.entries()) {
      const holder = holders[index]
      if (holder === undefined || this.found.has(text)) continue
      this.found.set(text, describe(holder, line, await findRefusal(this.#latchkey, holder, text)))
    }
  }
}

function describe(holder: Holder, line: number, refusal: string | null): Found {
  const accepted = refusal === null
  const { kind } = holder
  const { id, name, accountId: account } = kind === 'token' ? holder.row.token : holder.key
  const toEnd = accepted ? `latchkey ${kind === 'token' ? 'token disable' : 'key revoke'} ${id}` : null
  const subAccount = kind === 'token' ? holder.row.subAccount.name : null
  const row = { line, kind, _id: id, name, account, subAccount, accepted: accepted ? 'yes' : `no, ${refusal}` }
  const fields =
    kind === 'token' ? { ...views.listedToken(holder.row), former: holder.isFormer } : { ...keyToWire(holder.key) }
  return { fields: { line, kind, ...fields, account, accepted, refusal, toEnd }, row, toEnd }
}

function report({ candidates, found }: Search, output: Output): void {
  const all = [...found.values()]
  const commands = new Set(all.flatMap(({ toEnd }) => toEnd ?? []))
  const accepted = all.filter(({ toEnd }) => toEnd !== null).length
  const title = `Looked up ${candidates} candidates: ${all.length} found, ${accepted} of them accepted now.`
  output.result({ candidates, found: all.map(({ fields }) => fields) }, { title, rows: all.map(({ row }) => row) })
  if (commands.size > 0) output.line('To end access:')
  for (const command of commands) output.line(`  ${command}`)
}

/** Why verification refuses it; null if it is accepted. Does not count as a use. */
async function findRefusal({ registry }: Latchkey, holder: Holder, credential: string): Promise<string | null> {
  if (holder.kind === 'token') {
    const verdict = await registry.verification.introspect(credential)
    return verdict.accepted ? null : verdict.reason
  }
  try {
    await registry.authenticate(credential)
    return null
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    if (error.code === 'token-expired') return 'expired'
    if (error.code !== 'token-invalid') throw error
    return holder.key.revokedAt === null ? 'tampered' : 'revoked'
  }
}
