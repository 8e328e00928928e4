// Switches off what stands in a text, in one account: on the local store, or through a server.
import type { Command } from 'commander'
import { addAccount, type Manage } from './command.ts'
import type { Streams } from './output.ts'
import { readText } from './text-input.ts'

const HELP = `
Any text: a log, a diff, the report of a scanner; - reads standard input. Credentials of Latchkey's own format are found as
they are, percent-encoded and in base64, imported ones as whole words. Tokens whose credentials stand in it are disabled,
those of other accounts are not. No part of the text is stored. \`latchkey find\` searches for the credentials and account
keys of all accounts.

  latchkey leak --dry-run leaked.txt
  git log -p | latchkey leak -`

export function addLeakCommand(program: Command, manage: Manage, streams: Streams): void {
  manage<{ dryRun?: boolean }>(
    addAccount(program.command('leak'))
      .description('switch off the tokens whose credentials stand in a text')
      .argument('<file>', 'the text, or - for standard input')
      .option('--dry-run', 'find only, and change nothing')
      .addHelpText('after', HELP),
    async (management, { dryRun = false }, output, file) => {
      const report = await readText(streams, output, file, (text, { advance }) =>
        management.disableLeaked(counted(text, advance), dryRun),
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
