// Accounts, their keys and their sub-accounts.
import type { Command } from 'commander'
import { readPageRequest, readSearch } from '../tokens/model/page.ts'
import { addPaging, JSON_OPTION, type OnStore, show, showAll, showPage } from './command.ts'
import * as tell from './tell.ts'
import { addExpiry, type Expiry, readEmail, readExpiry, readName } from './values.ts'

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
    .command('rename')
    .description('give an account another name')
    .argument('<id>', 'the account')
    .requiredOption('--name <name>', 'the new name', readName)
    .option(...JSON_OPTION)
    .action(
      onStore<{ name: string }>(async ({ operator }, { name }, output, id) => {
        show(output, tell.account(await operator.renameAccount(id, name)))
      }),
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
  addExpiry(
    key
      .command('create')
      .description('make an account key; this is the only time that it is shown')
      .requiredOption('--account <id>', 'the account')
      .option('--name <name>', 'what it is for', readName, 'unnamed'),
  )
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string; name: string } & Expiry>(
        async ({ operator }, { account, name, ...expiry }, output) => {
          const expiresAt = readExpiry(expiry, operator.origin().at)
          show(output, tell.newKey(await operator.createKey(account, name, expiresAt)))
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
    .description('end an account key: it is refused from now on; this cannot be undone')
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
      .requiredOption('--account <id>', 'the account')
      .option('--search <text>', 'part of its name, e-mail address or company'),
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
  setStatus('suspend', 'refuse all tokens of a sub-account from now on', 'suspended')
  setStatus('resume', 'accept its tokens again, each as its own status says', 'active')
}
