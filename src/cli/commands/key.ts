// Account keys: the bearer credentials of main accounts.
import { type Command, Option } from 'commander'
import type { Key } from '../../../client/latchkey-client.ts'
import { MAX_LIMIT } from '../../tokens/model/page.ts'
import { ROLES, type Role } from '../../tokens/model/permissions.ts'
import { toTimeOrNull } from '../../tokens/model/times.ts'
import { addAccount, type OnTarget, show } from '../command.ts'
import type { Target } from '../target.ts'
import type { Output } from '../terminal/output.ts'
import { addExpiry, type Expiry, readExpiry, readName } from '../terminal/values.ts'
import * as views from '../terminal/views.ts'

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
