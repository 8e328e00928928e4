// Accounts, their keys and their sub-accounts.
import { type Command, Option } from 'commander'
import { readPageRequest, readSearch } from '../tokens/model/page.ts'
import { permissionsOf, ROLES, type Role } from '../tokens/model/permissions.ts'
import { readSubAccountPatch } from '../tokens/model/update.ts'
import { keyToWire } from '../wire/key.ts'
import { addPaging, type OnStore, show, showAll, showPage } from './command.ts'
import {
  addExpiry,
  addPatch,
  type Expiry,
  type PatchOptions,
  readEmail,
  readExpiry,
  readName,
  readPatchOptions,
} from './values.ts'
import * as views from './views.ts'

export function addAccountCommands(program: Command, onStore: OnStore): void {
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
  onStore<{ credentials: 'once' | 'recoverable' }>(
    account
      .command('set')
      .description('change how an account keeps its credentials')
      .argument('<id>', 'the account')
      .addOption(
        new Option('--credentials <how>', 'once: shown when they are made, never stored; stored ones are erased')
          .choices(['once', 'recoverable'])
          .makeOptionMandatory(),
      ),
    async ({ operator }, { credentials }, output, id) =>
      show(output, views.account(await operator.setCredentials(id, credentials === 'once' ? 'once' : null))),
  )
  onStore(account.command('list').description('all main accounts'), async ({ operator }, _options, output) =>
    showAll(output, (await operator.listAccounts()).map(views.account), 'No accounts yet.'),
  )
}

export function addKeyCommands(program: Command, onStore: OnStore): void {
  const key = program.command('key').description('account keys: the bearer credentials of main accounts')
  onStore<{ account: string; name: string; role: Role; reveal?: boolean; subAccount?: readonly string[] } & Expiry>(
    addExpiry(
      key
        .command('create')
        .description('create an account key; it is shown only this once')
        .requiredOption('--account <id>', 'the account')
        .option('--name <name>', 'what it is for', readName, 'unnamed')
        .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).default('owner'))
        .option('--reveal', 'it shows credentials; only an owner does unless this is set')
        .option('--no-reveal', 'it does not show credentials')
        .option('--sub-account <id...>', 'only these sub-accounts; can be repeated'),
    ),
    async ({ operator }, { account, name, role, reveal, subAccount: subAccounts = null, ...expiry }, output) => {
      const expiresAt = readExpiry(expiry, operator.origin().at)
      const permissions = permissionsOf({ role, subAccounts, ...(reveal === undefined ? {} : { reveal }) })
      show(output, views.newKey(await operator.createKey(account, name, expiresAt, permissions)))
    },
  )
  onStore<{ account: string }>(
    key
      .command('list')
      .description('the account keys of an account, without their secrets')
      .requiredOption('--account <id>', 'the account'),
    async ({ operator }, { account }, output) =>
      showAll(output, (await operator.listKeys(account)).map(keyToWire), 'No account keys yet.'),
  )
  onStore(
    key
      .command('revoke')
      .description('revoke an account key: it is refused from now on; this cannot be undone')
      .argument('<id>', 'the account key'),
    async ({ operator }, _options, output, id) => show(output, keyToWire(await operator.revokeKey(id))),
  )
}

export function addSubAccountCommands(program: Command, onStore: OnStore): void {
  const subAccount = program.command('sub-account').description('sub-accounts')
  onStore<{ account: string; name: string; email: string; companyName: string }>(
    subAccount
      .command('create')
      .description('create a sub-account')
      .requiredOption('--account <id>', 'the account that owns it')
      .requiredOption('--name <name>', 'its name', readName)
      .requiredOption('--email <email>', 'its e-mail address', readEmail)
      .requiredOption('--company-name <name>', 'its company', readName),
    async ({ operator }, { account, name, email, companyName }, output) => {
      const created = await operator.createSubAccounts(account, [{ name, email, companyName }])
      for (const each of created) show(output, views.subAccount(each))
    },
  )
  onStore<{ account: string }>(
    addPaging(
      subAccount
        .command('list')
        .description('the sub-accounts of an account, newest first')
        .requiredOption('--account <id>', 'the account')
        .option('--search <text>', 'part of its name, e-mail address or company'),
    ),
    async ({ operator, registry }, options, output) => {
      const { id } = await operator.getAccount(options.account)
      const query = { ...readPageRequest({ ...options }), search: readSearch({ ...options }) }
      const page = await registry.listSubAccounts(operator.actFor(id), query)
      showPage(output, { ...page, items: page.items.map(views.subAccountRow) }, 'sub-account')
    },
  )
  onStore<PatchOptions & { name?: string; email?: string; companyName?: string }>(
    addPatch(
      subAccount
        .command('set')
        .description('change fields of a sub-account; what is not named stays as it is')
        .argument('<id>', 'the sub-account')
        .option('--name <name>', 'its name')
        .option('--email <email>', 'its e-mail address')
        .option('--company-name <name>', 'its company'),
      ['metadata', 'policy'],
    ),
    async ({ operator, registry }, options, output, id) => {
      const { name, email, companyName } = options
      const patch = readSubAccountPatch(readPatchOptions({ name, email, companyName }, options))
      const caller = operator.actFor(await operator.getOwner(id))
      const { subAccount } = await registry.updateSubAccount(caller, id, patch, operator.origin())
      show(output, views.detailedSubAccount(subAccount))
    },
  )
  const setStatus = (name: string, description: string, status: 'active' | 'suspended') =>
    onStore(
      subAccount.command(name).description(description).argument('<id>', 'the sub-account'),
      async ({ operator, registry }, _options, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        const row = await registry.updateSubAccount(caller, id, { status }, operator.origin())
        show(output, views.subAccount(row.subAccount))
      },
    )
  setStatus('suspend', 'refuse all tokens of a sub-account from now on', 'suspended')
  setStatus('resume', 'accept its tokens again, each as its own status says', 'active')
}
