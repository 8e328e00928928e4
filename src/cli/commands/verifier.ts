// Verifiers that hold a lease: who they are, and how one is sent away.
import type { Command } from 'commander'
import { addAccount, addPaging, type OnTarget, show, showPage } from '../command.ts'

export function addVerifierCommands(program: Command, onTarget: OnTarget): void {
  const verifier = program
    .command('verifier')
    .description('processes that verify credentials by what they remember: see docs/guides/verifier.md')
  onTarget(
    addPaging(addAccount(verifier.command('list'), 'only those of this account')).description(
      'the verifiers that hold a lease, newest first; on the local store those of all accounts',
    ),
    async (target, filters, output) => showPage(output, await target.call('listVerifiers', { ...filters }), 'verifier'),
  )
  onTarget(
    verifier
      .command('evict')
      .description('give a verifier no further lease: it asks the service from then on')
      .argument('<id>', 'the verifier'),
    async (target, _options, output, id) => show(output, await target.call('evictVerifier', { id })),
  )
}
