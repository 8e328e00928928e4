// Accounts, their keys and their sub-accounts.
import { type Command, Option } from 'commander'
import type { Key } from '../../client/latchkey-client.ts'
import { OperatorError } from '../tokens/errors.ts'
import { MAX_LIMIT } from '../tokens/model/page.ts'
import { ROLES, type Role } from '../tokens/model/permissions.ts'
import { toTimeOrNull } from '../tokens/model/times.ts'
import { addAccount, addPaging, type OnStore, type OnTarget, pageOf, show, showPage } from './command.ts'
import { type Output, printable, type Streams } from './output.ts'
import { type Target, UsageError } from './target.ts'
import {
  addExpiry,
  addPatch,
  confirm,
  type Expiry,
  type PatchOptions,
  readEmail,
  readExpiry,
  readName,
  readPatchOptions,
} from './values.ts'
import * as views from './views.ts'

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

interface NewKeyOptions extends Expiry {
  readonly name: string
  readonly role?: Role
  readonly reveal?: boolean
  readonly subAccount?: readonly string[]
  readonly all?: boolean
}

export function addKeyCommands(program: Command, onTarget: OnTarget): void {
  const key = program.command('key').description('account keys: the bearer credentials of main accounts')
  onTarget<NewKeyOptions>(
    addExpiry(
      addAccount(key.command('create'))
        .description('create an account key; it is shown only this once')
        .option('--name <name>', 'what it is for', readName, 'unnamed')
        .addOption(new Option('--role <role>', 'what it may do; everything without it').choices(ROLES))
        .option('--reveal', 'it shows credentials; only an owner does unless this is set')
        .option('--no-reveal', 'it does not show credentials')
        .option('--sub-account <id...>', 'only these sub-accounts; can be repeated')
        .option('--all', 'for the credentials of all accounts; with --role verifier, on the local store'),
    ),
    async (target, { name, role, reveal, subAccount: subAccounts, all = false, ...expiry }, output) => {
      const expiresAt = toTimeOrNull(readExpiry(expiry, Date.now())) ?? undefined
      const fields = { name, role: role ?? ownerBecauseNoRole(output), reveal, subAccounts, expiresAt }
      const {
        _id,
        key,
        expiresAt: until,
      } = await (all ? await target.inAllAccounts() : target).call('createKey', { body: fields })
      show(output, { _id, key, expiresAt: until })
    },
  )
  onTarget<{ all?: boolean }>(
    addAccount(key.command('list'))
      .description('all account keys of an account, without their secrets')
      .option('--all', 'those for all accounts, on the local store'),
    async (target, { all = false }, output) => {
      const keys = await allKeys(all ? await target.inAllAccounts() : target)
      output.result(keys, keys.length === 0 ? { title: 'No account keys yet.' } : { rows: keys.map(views.toRow) })
    },
    async function* (target, { all = false, ...query }) {
      yield* (all ? await target.inAllAccounts() : target).csv('listKeys', query)
    },
  )
  onTarget(
    key
      .command('revoke')
      .description('revoke an account key: it is refused from now on; this cannot be undone')
      .argument('<id>', 'the account key'),
    async (target, _options, output, id) => show(output, await target.call('revokeKey', { id })),
  )
}

/** Whatever their number. */
async function allKeys(target: Target): Promise<readonly Key[]> {
  const keys: Key[] = []
  for (let page = 1; ; page++) {
    const { items, hasNextPage } = await target.call('listKeys', { page, limit: MAX_LIMIT })
    keys.push(...items)
    if (!hasNextPage) return keys
  }
}

/** The default is what keys were before there were roles. Not silently: a key that leaks does what its role may do. */
function ownerBecauseNoRole(output: Output): Role {
  output.stderr('No --role was given, so this is the key of an owner, who may do everything.')
  return 'owner'
}

export function addSubAccountCommands(program: Command, onTarget: OnTarget): void {
  const subAccount = program.command('sub-account').description('sub-accounts')
  onTarget<{ name: string; email: string; companyName: string }>(
    addAccount(subAccount.command('create'), 'the account that owns it')
      .description('create a sub-account')
      .requiredOption('--name <name>', 'its name', readName)
      .requiredOption('--email <email>', 'its e-mail address', readEmail)
      .requiredOption('--company-name <name>', 'its company', readName),
    async (target, fields, output) => show(output, await target.call('createSubAccount', { body: fields })),
  )
  onTarget(
    subAccount.command('get').description('show one sub-account').argument('<id>', 'the sub-account'),
    async (target, _options, output, id) => show(output, await target.call('getSubAccount', { id })),
  )
  onTarget(
    addPaging(
      addAccount(subAccount.command('list'))
        .description('the sub-accounts of an account, newest first')
        .option('--search <text>', 'part of its name, e-mail address or company'),
    ),
    async (target, filters, output) =>
      showPage(output, await target.call('listSubAccounts', { ...filters }), 'sub-account', views.subAccountRow),
    (target, query) => target.csv('listSubAccounts', query),
  )
  onTarget<PatchOptions & { name?: string; email?: string; companyName?: string }>(
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
    async (target, { name, email, companyName, ...options }, output, id) =>
      show(
        output,
        await target.call('patchSubAccount', { id, body: readPatchOptions({ name, email, companyName }, options) }),
      ),
  )
  const setStatus = (name: string, description: string, status: 'active' | 'suspended') =>
    onTarget(
      subAccount.command(name).description(description).argument('<id>', 'the sub-account'),
      async (target, _options, output, id) =>
        show(output, await target.call('patchSubAccount', { id, body: { status } })),
    )
  setStatus('suspend', 'refuse all tokens of a sub-account from now on', 'suspended')
  setStatus('resume', 'accept its tokens again, each as its own status says', 'active')
}
