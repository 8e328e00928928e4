// The history of an account or of one token.
import { type Command, Option } from 'commander'
import { ACTIONS } from '../../tokens/history/actions.ts'
import { OperatorError } from '../../tokens/model/errors.ts'
import { addPaging, type OnStore, type OnTarget, showPage } from '../command.ts'
import { verifyHistory } from '../store/doctor.ts'
import type { Target } from '../target.ts'
import { historyRow } from '../terminal/views.ts'

/** Whose history it is: that of an account, of a token, or without an id of the account that the command works on. */
async function historyOf(target: Target, id: string): Promise<{ readonly target: Target; readonly tokenId?: string }> {
  if (id === '') return { target }
  return id.startsWith('acc_') ? { target: await target.inAccount(id) } : { target, tokenId: id }
}

export function addHistoryCommands(program: Command, onTarget: OnTarget, onStore: OnStore): void {
  const history = program.command('history').description('the record of every change')
  onTarget(
    addPaging(
      history
        .command('list')
        .description('the changes of an account or of one token, latest first')
        .argument('[id]', 'an account or a token; on a server, the account of the key without it')
        .option('--by <actor>', 'only what this account key, `operator`, or `jwt:` or `oidc:` subject did')
        .addOption(new Option('--action <action>', 'only this kind of change').choices([...ACTIONS]).argParser(String))
        .option('--from <time>', 'only changes at this time or later, such as 2030-01-31T12:00:00Z')
        .option('--before <time>', 'only changes before this time')
        .option('--after <position>', 'only changes after this position (seq), oldest first; 0 for all')
        .option('--before-position <position>', 'only changes before this position'),
    ),
    async (target, filters, output, id) => {
      const { target: within, tokenId } = await historyOf(target, id)
      const page =
        tokenId === undefined
          ? await within.call('listAccountHistory', { ...filters })
          : await within.call('listTokenHistory', { ...filters, id: tokenId })
      showPage(output, page, 'change', historyRow)
    },
    async function* (target, query, id) {
      const { target: within, tokenId } = await historyOf(target, id)
      yield* tokenId === undefined
        ? within.csv('listAccountHistory', query)
        : within.csv('listTokenHistory', { ...query, id: tokenId })
    },
  )
  onStore(
    history.command('verify').description('find any row altered, removed or inserted'),
    async (latchkey, _options, output) => {
      const report = await verifyHistory(latchkey)
      const rows = report.problems.map((problem) => ({ problem }))
      output.result(report, { title: `${report.rows} rows of ${report.accounts} accounts checked.`, rows })
      if (report.problems.length > 0) throw new OperatorError('the history has been tampered with')
    },
  )
}
