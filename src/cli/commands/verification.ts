// Whether a credential is accepted, what decides about a token, and who is asking.
import { type Command, CommanderError } from 'commander'
import { addAccount, type OnTarget, show } from '../command.ts'
import { EXIT, UsageError } from '../terminal/exit-codes.ts'
import type { Streams } from '../terminal/output.ts'
import { readSecretInput } from '../terminal/values.ts'
import { toRow } from '../terminal/views.ts'

interface AccessOptions {
  readonly scope?: readonly string[]
  readonly address?: string
}

const VERIFY_HELP = `
Asks as a gateway does: it counts as a use, and takes one unit of the rate and quota. Exit codes: 0 accepted, 1 refused.

  latchkey verify --scope orders:read < credential.txt

Through a server, --address counts where LATCHKEY_TRUST_PROXY of the server trusts this machine. Without it, the
server takes the address of this machine, and the local store knows none.`

export function addVerificationCommands(program: Command, onTarget: OnTarget, streams: Streams): void {
  onTarget<AccessOptions>(
    addAccess(program.command('verify'))
      .description('verify the credential on standard input')
      .addHelpText('after', VERIFY_HELP),
    async (target, access, output) => {
      const credential = await readSecretInput(streams, 'credential')
      if (credential === '') throw new UsageError('There is no credential on standard input.')
      const verdict = await target.verify(credential, access)
      show(output, verdict)
      if (!verdict.accepted) throw new CommanderError(EXIT.refused, 'latchkey.refused', '')
    },
  )
  onTarget<AccessOptions>(
    addAccess(program.command('explain'))
      .description('what verification would say of a token, and why; uses nothing up')
      .argument('<id>', 'the token'),
    async (target, access, output, id) => {
      const { effective, ...verdict } = await target.call('explainToken', { ...access, id })
      show(output, { ...verdict, effective }, toRow({ ...verdict, ...effective }))
    },
  )
  onTarget(
    addAccount(program.command('whoami')).description('who is asking, of which account, and what they may do'),
    async (target, _options, output) => {
      const { account, caller, permissions } = await target.whoami()
      const people = {
        account: account && `${account.name} (${account._id})`,
        caller: `${caller.name} (${caller._id})`,
      }
      show(output, { account, caller, permissions }, toRow({ ...people, ...permissions }))
    },
  )
}

function addAccess(command: Command): Command {
  return command
    .option(
      '--scope <scopes>',
      'scopes that are all needed, separated by spaces; repeated: any of these is enough',
      (scopes, others: readonly string[] = []) => [...others, scopes],
    )
    .option('--address <address>', 'the IP address of the end user')
}
