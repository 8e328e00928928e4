// Finds leaked credentials in any text: who owns them, and how to end them.
import { type Command, CommanderError } from 'commander'
import type { Latchkey } from '../../compose.ts'
import { keyToWire } from '../../operations/keys/document.ts'
import { candidatesIn, type Text } from '../../tokens/leaks/candidates.ts'
import type { Holder } from '../../tokens/leaks/leaks.ts'
import { Failure } from '../../tokens/model/errors.ts'
import type { Registry } from '../../tokens/service/registry.ts'
import type { OnStore } from '../command.ts'
import { EXIT } from '../terminal/exit-codes.ts'
import type { Output, Streams } from '../terminal/output.ts'
import type { Progress } from '../terminal/progress.ts'
import { readText, STANDARD_INPUT } from '../terminal/text-input.ts'
import * as views from '../terminal/views.ts'

const HELP = `
Reads any text, from a file or from standard input: a log, a .env file, JSON, a dump. Credentials are never printed. Found are
credentials of Latchkey's own format anywhere, also percent-encoded or in base64, each once, and imported ones as whole words: between
white space, quotes, brackets, commas, semicolons, & and backslashes, or after the first = of such a word.

  latchkey find leaked.txt
  git log -p | latchkey find --json
  latchkey find --disable leaked.txt

Exit codes: 0 something was found, ${EXIT.nothingFound} all of the text was read and nothing was found; any other: the search could not be
completed, 3 because the store cannot be reached.`

interface Found {
  readonly holder: Holder
  readonly line: number
  /** Why verification refuses it; null if it is accepted. */
  readonly refusal: string | null
}

interface Result {
  readonly candidates: number
  readonly found: readonly Found[]
}

export function addFindCommand(program: Command, onStore: OnStore, streams: Streams): void {
  onStore(
    program
      .command('find')
      .description('find credentials and account keys of all accounts in a text')
      .argument('[file]', 'the text, or - for standard input', STANDARD_INPUT)
      .option('--disable', 'switch off all that is found: disable the tokens, revoke the account keys')
      .addHelpText('after', HELP),
    async (latchkey, { disable = false }: { disable?: boolean }, output, file) => {
      const result = await readText(streams, output, file || STANDARD_INPUT, (text, progress) =>
        search(latchkey, text, progress),
      )
      const ended = disable ? await endAll(latchkey, result.found) : undefined
      report(result, ended, output)
      if (result.found.length === 0) throw new CommanderError(EXIT.nothingFound, 'latchkey.nothing-found', '')
    },
  )
}

async function search({ registry }: Latchkey, input: Text, progress: Progress): Promise<Result> {
  const { leaks } = registry
  const found = new Map<string, Found>()
  let candidates = 0
  for await (const batch of candidatesIn(input, { onBytes: (count) => progress.advance(count) })) {
    candidates += batch.size
    const holders = await leaks.findHolders(batch.keys())
    for (const [credential, line] of batch) {
      const holder = holders.get(credential)
      if (holder === undefined || found.has(credential)) continue
      found.set(credential, { holder, line, refusal: await findRefusal(registry, holder, credential) })
    }
  }
  return { candidates, found: [...found.values()].toSorted((one, other) => one.line - other.line) }
}

/** Each once, also where several of its credentials were found. Returns the ids of those that were not off already. */
async function endAll({ registry, operator }: Latchkey, found: readonly Found[]): Promise<ReadonlySet<string>> {
  const holders = new Map(found.map(({ holder }) => [idOf(holder), holder]))
  const ended = new Set<string>()
  for (const [id, holder] of holders) if (await registry.leaks.end(holder, operator.origin())) ended.add(id)
  return ended
}

const idOf = (holder: Holder) => (holder.kind === 'token' ? holder.row.token.id : holder.key.id)

/** `ended`: what was switched off; undefined if that was not asked for. */
function describe({ holder, line, refusal }: Found, ended: ReadonlySet<string> | undefined) {
  const accepted = refusal === null
  const { kind } = holder
  const { id, name, accountId: account } = kind === 'token' ? holder.row.token : holder.key
  const command = `latchkey ${kind === 'token' ? 'token disable' : 'key revoke'} ${id}`
  const toEnd = accepted && ended === undefined ? command : null
  const off = ended && { disabled: ended.has(id) }
  const subAccount = kind === 'token' ? holder.row.subAccount.name : null
  const row = { line, kind, _id: id, name, account, subAccount, accepted: accepted ? 'yes' : `no, ${refusal}` }
  const fields =
    kind === 'token'
      ? { ...views.listedToken(holder.row), former: holder.candidate.retiresAt !== null }
      : { ...keyToWire(holder.key) }
  return { fields: { line, kind, ...fields, account, accepted, refusal, toEnd, ...off }, row, toEnd }
}

function report({ candidates, found }: Result, ended: ReadonlySet<string> | undefined, output: Output): void {
  const all = found.map((each) => describe(each, ended))
  const commands = new Set(all.flatMap(({ toEnd }) => toEnd ?? []))
  const accepted = found.filter(({ refusal }) => refusal === null).length
  const off = ended === undefined ? '' : ` Switched off: ${ended.size}.`
  const title = `Looked up ${candidates} candidates: ${all.length} found, ${accepted} of them accepted now.${off}`
  const disabled = ended && { disabled: ended.size }
  const document = { candidates, found: all.map(({ fields }) => fields), ...disabled }
  output.result(document, { title, rows: all.map(({ row }) => row) })
  if (commands.size > 0) output.line('To end access:')
  for (const command of commands) output.line(`  ${command}`)
}

/** Why verification refuses it; null if it is accepted. Does not count as a use. */
async function findRefusal(registry: Registry, holder: Holder, credential: string): Promise<string | null> {
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
