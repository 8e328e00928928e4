// Main accounts.
import { type Command, Option } from 'commander'
import { OperatorError } from '../../tokens/model/errors.ts'
import { addPaging, type OnStore, pageOf, show, showPage } from '../command.ts'
import { UsageError } from '../terminal/exit-codes.ts'
import { printable, type Streams } from '../terminal/output.ts'
import { confirm, readName } from '../terminal/values.ts'
import * as views from '../terminal/views.ts'

export function addAccountCommands(program: Command, onStore: OnStore, streams: Streams): void {
  const account = program.command('account').description('main accounts')
  onStore<{ name: string }>(
    account
      .command('create')
      .description('create a main account')
      .requiredOption('--name <name>', 'name of the account', readName),
    async ({ operator }, { name }, output) => show(output, views.account(await operator.createAccount(name))),
    { mayCreateStore: true },
  )
  onStore<{ name: string }>(
    account
      .command('rename')
      .description('rename an account')
      .argument('<id>', 'the account')
      .requiredOption('--name <name>', 'the new name', readName),
    async ({ operator }, { name }, output, id) => show(output, views.account(await operator.renameAccount(id, name))),
  )
  onStore<{ credentials: 'once' | 'recoverable'; yes?: boolean }>(
    account
      .command('set')
      .description('change how an account keeps its credentials')
      .argument('<id>', 'the account')
      .addOption(
        new Option('--credentials <how>', 'once: shown when they are made, never stored; stored ones are erased')
          .choices(['once', 'recoverable'])
          .makeOptionMandatory(),
      )
      .option('--yes', 'erase without asking'),
    async ({ operator }, { credentials, yes }, output, id) => {
      const { name } = await operator.getAccount(id)
      if (credentials === 'once' && yes !== true) await requireConsent(streams, name)
      show(output, views.account(await operator.setCredentials(id, credentials === 'once' ? 'once' : null)))
    },
  )
  onStore(addPaging(account.command('list').description('all main accounts')), async ({ operator }, options, output) =>
    showPage(output, pageOf((await operator.listAccounts()).map(views.account), { ...options }), 'account'),
  )
}

/** Erased credentials cannot be had back. */
async function requireConsent(streams: Streams, account: string): Promise<void> {
  const consent = await confirm(
    streams,
    `Erase all stored credentials of ${printable(account)}? Nobody can see them again.`,
  )
  if (consent === null)
    throw new UsageError('This erases all stored credentials of the account: confirm it with --yes.')
  if (!consent) throw new OperatorError('Nothing was changed.')
}
