// Switches off what stands in a text, in one account: on the local store, or through a server.
import type { Command } from 'commander'
import type { LeakReport } from '../../../client/latchkey-client.ts'
import { overlapping, type Text } from '../../tokens/leaks/candidates.ts'
import { addAccount, type OnTarget } from '../command.ts'
import type { Target } from '../target.ts'
import type { Streams } from '../terminal/output.ts'
import { readText } from '../terminal/text-input.ts'

const HELP = `
Any text: a log, a diff, the report of a scanner; - reads standard input. Credentials of Latchkey's own format are found as
they are, percent-encoded and in base64, imported ones as whole words. Tokens whose credentials stand in it are disabled,
those of other accounts are not. No part of the text is stored. \`latchkey find\` searches for the credentials and account
keys of all accounts.

  latchkey leak --dry-run leaked.txt
  git log -p | latchkey leak -`

export function addLeakCommand(program: Command, onTarget: OnTarget, streams: Streams): void {
  onTarget<{ dryRun?: boolean }>(
    addAccount(program.command('leak'))
      .description('switch off the tokens whose credentials stand in a text')
      .argument('<file>', 'the text, or - for standard input')
      .option('--dry-run', 'find only, and change nothing')
      .addHelpText('after', HELP),
    async (target, { dryRun = false }, output, file) => {
      const report = await readText(streams, output, file, (text, { advance }) =>
        disableLeaked(target, counted(text, advance), dryRun),
      )
      const rows = report.found.map(({ _id, name, subAccount, status, wasActive }) => {
        return { _id, name, subAccount: subAccount.name, status, wasActive: wasActive ? 'yes' : 'no' }
      })
      const title = `Found ${rows.length} tokens, switched off ${report.disabled}.`
      output.result(report, { title, rows })
    },
  )
}

async function* counted(text: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, onBytes: (count: number) => void) {
  for await (const chunk of text) {
    yield chunk
    onBytes(chunk.length)
  }
}

/** A request takes a text of some megabytes. What a later piece repeats was switched off with an earlier one. */
async function disableLeaked(target: Target, text: Text, dryRun: boolean): Promise<LeakReport> {
  const found = new Map<string, LeakReport['found'][number]>()
  let disabled = 0
  for await (const piece of overlapping(text)) {
    // The search is for ASCII: what other characters become does not matter.
    const report = await target.call('disableLeaked', { body: { text: piece.toString('latin1'), dryRun } })
    for (const token of report.found) if (!found.has(token._id)) found.set(token._id, token)
    disabled += report.disabled
  }
  return { found: [...found.values()], disabled }
}
