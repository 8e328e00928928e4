// Tokens one by one, and their history.
import type { Command } from 'commander'
import { OperatorError } from '../tokens/errors.ts'
import { entryOf } from '../tokens/history.ts'
import { readTokenQuery } from '../tokens/page.ts'
import { readOverlap } from '../tokens/update.ts'
import { addPaging, JSON_OPTION, type OnStore, show, showPage } from './command.ts'
import { verifyHistory } from './doctor.ts'
import * as tell from './tell.ts'
import { readDuration, readName, readNewCredential, readStatus, readTime } from './values.ts'

interface NewTokenOptions {
  readonly subAccount: string
  readonly name: string
  readonly status: 'active' | 'inactive'
  readonly expiresAt?: number
  readonly credential?: string
}

export function addTokenCommands(program: Command, onStore: OnStore): void {
  const token = program.command('token').description('tokens')
  token
    .command('create')
    .description('make a token, and show its credential')
    .requiredOption('--sub-account <id>', 'the sub-account that owns it')
    .requiredOption('--name <name>', 'its name', readName)
    .option('--status <status>', 'active or inactive', readStatus, 'active')
    .option('--expires-at <time>', 'ISO 8601, such as 2030-01-31T12:00:00Z', readTime)
    .option('--credential <value>', 'an existing credential of any format', readNewCredential)
    .option(...JSON_OPTION)
    .action(
      onStore<NewTokenOptions>(async ({ operator, registry }, { subAccount, ...fields }, output) => {
        const accountId = await operator.getOwner(subAccount)
        const created = await operator.createTokens([{ accountId, subAccountId: subAccount, ...fields }])
        for (const { id } of created) {
          show(output, tell.token(await registry.getToken(operator.actFor(accountId), id)))
        }
      }),
    )
  addPaging(
    token
      .command('list')
      .description('the tokens of an account, newest first, without their credentials')
      .requiredOption('--account <id>', 'the account')
      .option('--sub-account <id>', 'only of this sub-account')
      .option('--status <status>', 'only active or inactive ones'),
    'its name',
  ).action(
    onStore<{ account: string; subAccount?: string }>(
      async ({ operator }, { account, subAccount, ...asked }, output) => {
        const page = await operator.listTokens(
          account,
          readTokenQuery({ ...asked, subAccountId: subAccount }, operator.origin().at),
        )
        showPage(output, { ...page, items: page.items.map(tell.listedToken) }, 'token')
      },
    ),
  )
  const setStatus = (verb: string, description: string, status: 'active' | 'inactive') =>
    token
      .command(verb)
      .description(description)
      .argument('<id>', 'the token')
      .option(...JSON_OPTION)
      .action(
        onStore(async ({ operator, registry }, _options, output, id) => {
          const caller = operator.actFor(await operator.getOwner(id))
          show(output, tell.token(await registry.updateToken(caller, id, { status }, operator.origin())))
        }),
      )
  setStatus('disable', 'from now on it does not authenticate', 'inactive')
  setStatus('enable', 'it authenticates again', 'active')
  token
    .command('rotate')
    .description('give it a new credential')
    .argument('<id>', 'the token')
    .option('--overlap <time>', 'how long the former credential still works, such as 1h', readDuration, 0)
    .option(...JSON_OPTION)
    .action(
      onStore<{ overlap: number }>(async ({ operator, registry }, { overlap }, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        const seconds = readOverlap({ overlapSeconds: overlap / 1000 })
        show(output, tell.token(await registry.rotateToken(caller, id, seconds, operator.origin())))
      }),
    )
  token
    .command('delete')
    .description('remove it for good; it no longer authenticates')
    .argument('<id>', 'the token')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator, registry }, _options, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        const { id: _id } = await registry.deleteToken(caller, id, operator.origin())
        output.result({ _id, deleted: true }, { title: `Deleted ${_id}.` })
      }),
    )
}

export function addHistoryCommands(program: Command, onStore: OnStore): void {
  const history = program.command('history').description('the record of every change')
  history
    .command('list')
    .description('the latest changes of an account or of one token')
    .argument('<id>', 'an account or a token')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator, registry }, _options, output, id) => {
        const tokenId = id.startsWith('acc_') ? undefined : id
        const accountId = tokenId === undefined ? (await operator.getAccount(id)).id : await operator.getOwner(id)
        const page = await registry.listHistory(operator.actFor(accountId), { page: 1, limit: 100, tokenId })
        output.result(page.items.map(entryOf), { rows: page.items.map(tell.historyLine) })
      }),
    )
  history
    .command('verify')
    .description('find any row altered, removed or inserted')
    .option(...JSON_OPTION)
    .action(
      onStore(async (latchkey, _options, output) => {
        const report = await verifyHistory(latchkey)
        const rows = report.problems.map((problem) => ({ problem }))
        output.result(report, { title: `${report.rows} rows of ${report.accounts} accounts checked.`, rows })
        if (report.problems.length > 0) throw new OperatorError('the history has been tampered with')
      }),
    )
}
