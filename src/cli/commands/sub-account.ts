// Sub-accounts: the owners of tokens.
import type { Command } from 'commander'
import { addAccount, addPaging, type OnTarget, show, showPage } from '../command.ts'
import { addPatch, type PatchOptions, readEmail, readName, readPatchOptions } from '../terminal/values.ts'
import * as views from '../terminal/views.ts'

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
