// Accounts, their keys and their sub-accounts.
import type { Command } from 'commander'
import { OperatorError } from '../tokens/errors.ts'
import { readPageRequest, readSearch } from '../tokens/page.ts'
import { addPaging, JSON_OPTION, type OnStore, show, showAll, showPage } from './command.ts'
import * as tell from './tell.ts'
import { readDuration, readEmail, readName, readTime } from './values.ts'

export function addAccountCommands(program: Command, onStore: OnStore): void {
  const account = program.command('account').description('main accounts')
  account
    .command('create')
    .description('make a main account')
    .requiredOption('--name <name>', 'name of the account', readName)
    .option(...JSON_OPTION)
    .action(
      onStore<{ name: string }>(
        async ({ operator }, { name }, output) => show(output, tell.account(await operator.createAccount(name))),
        { mayMakeStore: true },
      ),
    )
  account
    .command('list')
    .description('all main accounts')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator }, _options, output) => {
        showAll(output, (await operator.listAccounts()).map(tell.account), 'No accounts yet.')
      }),
    )
}

export function addKeyCommands(program: Command, onStore: OnStore): void {
  const key = program.command('key').description('account keys: the bearers of main accounts')
  key
    .command('create')
    .description('make an account key; it is shown this once')
    .requiredOption('--account <id>', 'the account')
    .option('--name <name>', 'what it is for', readName, 'unnamed')
    .option('--expires-in <time>', 'such as 90d, 12h, 30m', readDuration)
    .option('--expires-at <time>', 'ISO 8601, such as 2030-01-31T12:00:00Z', readTime)
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string; name: string; expiresIn?: number; expiresAt?: number }>(
        async ({ operator }, { account, name, expiresIn, expiresAt }, output) => {
          if (expiresIn !== undefined && expiresAt !== undefined) {
            throw new OperatorError('--expires-in and --expires-at exclude each other')
          }
          const expiry = expiresIn === undefined ? (expiresAt ?? null) : operator.origin().at + expiresIn
          show(output, tell.newKey(await operator.createKey(account, name, expiry)))
        },
      ),
    )
  key
    .command('list')
    .description('the account keys of an account, without their secrets')
    .requiredOption('--account <id>', 'the account')
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string }>(async ({ operator }, { account }, output) => {
        showAll(output, (await operator.listKeys(account)).map(tell.key), 'No account keys yet.')
      }),
    )
  key
    .command('revoke')
    .description('from now on it lets nobody in; this cannot be undone')
    .argument('<id>', 'the account key')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator }, _options, output, id) => {
        show(output, tell.key(await operator.revokeKey(id)))
      }),
    )
}

export function addSubAccountCommands(program: Command, onStore: OnStore): void {
  const subAccount = program.command('sub-account').description('sub-accounts')
  subAccount
    .command('create')
    .description('make a sub-account')
    .requiredOption('--account <id>', 'the account that owns it')
    .requiredOption('--name <name>', 'its name', readName)
    .requiredOption('--email <email>', 'its e-mail address', readEmail)
    .requiredOption('--company-name <name>', 'its company', readName)
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string; name: string; email: string; companyName: string }>(
        async ({ operator }, { account, name, email, companyName }, output) => {
          const created = await operator.createSubAccounts(account, [{ name, email, companyName }])
          for (const each of created) show(output, tell.subAccount(each))
        },
      ),
    )
  addPaging(
    subAccount
      .command('list')
      .description('the sub-accounts of an account, newest first')
      .requiredOption('--account <id>', 'the account'),
    'its name, e-mail address or company',
  ).action(
    onStore<{ account: string }>(async ({ operator, registry }, asked, output) => {
      const { id } = await operator.getAccount(asked.account)
      const query = { ...readPageRequest({ ...asked }), search: readSearch({ ...asked }) }
      const page = await registry.listSubAccounts(operator.actFor(id), query)
      showPage(output, { ...page, items: page.items.map(tell.subAccountRow) }, 'sub-account')
    }),
  )
  const setStatus = (verb: string, description: string, status: 'active' | 'suspended') =>
    subAccount
      .command(verb)
      .description(description)
      .argument('<id>', 'the sub-account')
      .option(...JSON_OPTION)
      .action(
        onStore(async ({ operator, registry }, _options, output, id) => {
          const caller = operator.actFor(await operator.getOwner(id))
          const row = await registry.updateSubAccount(caller, id, { status }, operator.origin())
          show(output, tell.subAccount(row.subAccount))
        }),
      )
  setStatus('suspend', 'from now on none of its tokens authenticates', 'suspended')
  setStatus('resume', 'its tokens authenticate again, each as its own status says', 'active')
}
