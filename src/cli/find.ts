// Whose a credential is: for the day on which one is found where it should not be.
import type { Command } from 'commander'
import type { Latchkey } from '../compose.ts'
import { Failure, OperatorError } from '../tokens/errors.ts'
import type { Holder } from '../tokens/operator.ts'
import { JSON_OPTION, type OnStore, show } from './command.ts'
import type { Streams } from './output.ts'
import * as tell from './tell.ts'

/** No credential is longer. */
const MOST_CHARACTERS = 1_024

export function addFindCommand(program: Command, onStore: OnStore, streams: Streams): void {
  program
    .command('find')
    .description('tell whose the credential on standard input is, and whether it lets anybody in')
    .option(...JSON_OPTION)
    .action(
      onStore(async (latchkey, _options, output) => {
        const credential = await readCredential(streams)
        const holder = await latchkey.operator.findHolder(credential)
        if (holder === undefined) throw new OperatorError('No token and no account key has this credential.')
        const refusal = await findRefusal(latchkey, holder, credential)
        const told = { kind: holder.kind, ...tellHolder(holder), accepted: refusal === null, refusal }
        const end = holder.kind === 'token' ? `token disable ${holder.row.token.id}` : `key revoke ${holder.key.id}`
        output.line(refusal === null ? `It is let in. To end that: latchkey ${end}` : 'It is not let in.')
        show(output, told)
      }),
    )
}

/** Not as an argument, which everybody on the machine could see and the shell would remember. */
async function readCredential({ stdin, stderr }: Streams): Promise<string> {
  if (stdin?.isTTY) stderr.write('Paste the credential, then press Enter.\n')
  let text = ''
  for await (const chunk of stdin ?? []) {
    text += chunk
    if (/\n/.test(text) || text.length > MOST_CHARACTERS) break
  }
  const [line = ''] = text.split('\n', 1)
  if (line.trim() === '') throw new OperatorError('Give the credential on standard input: latchkey find < FILE')
  return line.trim()
}

/** Why it lets nobody in, by the same rules as at the door; null when it does. */
async function findRefusal({ registry }: Latchkey, holder: Holder, credential: string): Promise<string | null> {
  if (holder.kind === 'token') {
    const verdict = await registry.introspect(credential)
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

function tellHolder(holder: Holder): tell.Told {
  if (holder.kind === 'account key') return { ...tell.key(holder.key), account: holder.key.accountId }
  const { row, isFormer } = holder
  return { ...tell.listedToken(row), account: row.token.accountId, former: isFormer }
}
