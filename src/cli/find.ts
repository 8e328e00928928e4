// Finds leaked credentials in any text: who owns them, and how to end them.
import { Readable } from 'node:stream'
import { type Command, CommanderError } from 'commander'
import type { Latchkey } from '../compose.ts'
import { Failure } from '../tokens/errors.ts'
import type { Holder } from '../tokens/operator.ts'
import { keyToWire } from '../wire/key.ts'
import { type Candidate, findCandidates } from './candidates.ts'
import type { OnStore } from './command.ts'
import type { Output, Streams, Table } from './output.ts'
import * as views from './views.ts'

const NOTHING_FOUND = 3
/** Concurrent look-ups; on PostgreSQL they share round trips. */
const BATCH = 500
/** Words that are not looked up again when they repeat. */
const MAX_REMEMBERED = 200_000

const HELP = `
Reads any text from standard input: a log, a .env file, JSON, a dump. Every word of it, and every part of a word between
punctuation, is looked up. Credentials are never printed.

  latchkey find < leaked.txt
  git log -p | latchkey find --json

An imported credential that itself holds quotes, brackets, commas, semicolons, bars or backslashes is found only
between white space. One of fewer than eight characters is not found in UTF-16 without a byte order mark.

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
      for await (const candidates of findCandidates(streams.stdin ?? Readable.from([]))) await search.add(candidates)
      report(search, output)
      if (search.found.size === 0) throw new CommanderError(NOTHING_FOUND, 'latchkey.nothing-found', '')
    },
  )
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
    for (const { text: slice, line } of candidates) {
      if (this.#seen.has(slice)) continue
      if (this.#seen.size === MAX_REMEMBERED) this.#seen.clear()
      // A copy: in V8 a slice keeps the whole text in memory.
      const text = Buffer.from(slice, 'latin1').toString('latin1')
      this.#seen.add(text)
      batch.push({ text, line })
      if (batch.length < BATCH) continue
      await this.#lookUp(batch)
      batch = []
    }
    await this.#lookUp(batch)
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
