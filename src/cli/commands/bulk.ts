// The same change of all tokens that a filter matches.
import { type Command, InvalidArgumentError } from 'commander'
import type { BulkOperation, BulkPreview, BulkRequest } from '../../../client/latchkey-client.ts'
import type { BulkAction } from '../../tokens/bulk/bulk.ts'
import { OperatorError } from '../../tokens/model/errors.ts'
import { addAccount, addPaging, type OnTarget, show, showPage } from '../command.ts'
import type { Target } from '../target.ts'
import { UsageError } from '../terminal/exit-codes.ts'
import type { Output } from '../terminal/output.ts'
import { startProgress } from '../terminal/progress.ts'
import { addTokenFilters } from './token-filters.ts'

interface Options {
  readonly all?: boolean
  readonly dryRun?: boolean
  readonly expectedTotal?: number
  readonly reason?: string
  readonly subAccount?: string
}

const HELP = `
The tokens are those that match at this moment, exactly as \`latchkey token list\` shows them with the same options. See how many
they are first, and have it refused if they are others:

  latchkey token bulk disable --idle-days 90 --dry-run
  latchkey token bulk disable --idle-days 90 --expected-total 1234 --reason "unused for 90 days"

The command waits, and shows how far it is. If it is interrupted, a server of the store goes on by itself; without one,
\`latchkey token bulk wait ID\` does. \`latchkey token bulk undo ID\` restores what was not changed since.`

const DESCRIPTIONS: Readonly<Record<BulkAction, string>> = {
  disable: 'refuse all tokens that match from now on',
  enable: 'accept all tokens that match again',
  expire: 'have all tokens that match expire now, unless they have already',
  delete: 'delete all tokens that match permanently; this cannot be undone',
}

export function addBulkCommands(token: Command, onTarget: OnTarget): void {
  const bulk = token.command('bulk').description('all tokens that a filter matches at once')
  for (const [action, description] of Object.entries(DESCRIPTIONS) as [BulkAction, string][]) {
    onTarget<Options>(
      addTokenFilters(addAccount(bulk.command(action)))
        .description(description)
        .option('--ids <id...>', 'only these, at most 100')
        .option('--all', 'all tokens of the account; needed where there is no other filter')
        .option('--dry-run', 'count them, show some, and change nothing')
        .option('--expected-total <n>', 'only if exactly so many match', readCount)
        .option('--reason <text>', 'in each entry of the history')
        .addHelpText('after', HELP),
      (target, options, output) => order(target, action, options, output),
    )
  }
  onTarget(
    addPaging(addAccount(bulk.command('list')).description('the operations of an account, newest first')),
    async (target, paging, output) =>
      showPage(output, await target.call('listBulk', { ...paging }), 'operation', rowOf),
  )
  onTarget(
    ofOne(bulk.command('get')).description('show one operation, and how far it is'),
    async (target, _options, output, id) => {
      const operation = await target.call('getBulk', { id })
      show(output, operation, fieldsOf(operation))
    },
  )
  onTarget(
    ofOne(bulk.command('wait')).description('wait until an operation is over; on the local store, carry it out'),
    (target, _options, output, id) => watch(target, () => target.call('getBulk', { id }), output),
  )
  onTarget(
    ofOne(bulk.command('undo')).description('give each token what it had before, unless it was changed since'),
    (target, _options, output, id) => watch(target, () => target.call('undoBulk', { id }), output),
  )
}

const ofOne = (command: Command) => command.argument('<id>', 'the operation')

function readCount(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number.')
}

async function order(target: Target, action: BulkAction, options: Options, output: Output): Promise<void> {
  const { all = false, dryRun = false, expectedTotal, reason, subAccount: subAccountId, ...others } = options
  const filter = { ...(subAccountId !== undefined && { subAccountId }), ...others } as BulkRequest['filter']
  const isFiltered = Object.keys(filter).length > 0
  if (all === isFiltered) {
    throw new UsageError(all ? '--all excludes filters' : 'Name a filter, or --all for all tokens of the account')
  }
  const request: BulkRequest = {
    action,
    filter,
    ...(expectedTotal !== undefined && { expectedTotal }),
    ...(reason !== undefined && { reason }),
  }
  const ask = (dryRun: boolean) => target.call('changeTokens', { body: { ...request, dryRun } })
  if (!dryRun) return watch(target, () => ask(false) as Promise<BulkOperation>, output)
  const preview = (await ask(true)) as BulkPreview
  const rows = preview.sample.map(({ _id, name, status, subAccount }) => ({
    _id,
    name,
    status,
    subAccount: subAccount.name,
  }))
  const some = preview.total > rows.length ? `; the newest ${rows.length} of them` : ''
  output.result(preview, { title: `The filter matches ${preview.total} tokens${some}`, rows })
}

async function watch(target: Target, begin: () => Promise<BulkOperation>, output: Output): Promise<void> {
  const begun = await begin()
  const passed = ({ done, skipped, undo }: BulkOperation) =>
    undo === null ? done + skipped : undo.restored + undo.kept
  const bar = startProgress(output, 'Tokens', begun.undo === null ? begun.total : begun.done)
  let shown = 0
  try {
    const operation = await target.awaitBulk(begun._id, (now) => {
      bar.advance(Math.max(0, passed(now) - shown))
      shown = Math.max(shown, passed(now))
    })
    bar.done()
    show(output, operation, fieldsOf(operation))
    if (operation.status === 'failed') throw new OperatorError(`the operation has failed (${operation.failedBecause})`)
  } finally {
    bar.done()
  }
}

function rowOf({ _id, action, status, total, done, skipped, createdAt, by }: BulkOperation) {
  return { _id, action, status, total, done, skipped, createdAt, by }
}

function fieldsOf({ filter, undo, ...operation }: BulkOperation) {
  return { ...operation, filter: JSON.stringify(filter), undo: undo && `${undo.restored} restored, ${undo.kept} kept` }
}
