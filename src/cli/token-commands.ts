// Tokens one by one, and their history.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { OperatorError } from '../tokens/errors.ts'
import { ACTIONS } from '../tokens/model/actions.ts'
import { SORTS } from '../tokens/model/page.ts'
import { toTimeOrNull } from '../tokens/model/times.ts'
import { MAX_OVERLAP_SECONDS } from '../tokens/model/update.ts'
import { addBulkCommands } from './bulk-commands.ts'
import { addAccount, addPaging, type Manage, type OnStore, show, showPage } from './command.ts'
import { verifyHistory } from './doctor.ts'
import { UsageError } from './management.ts'
import type { Output, Streams } from './output.ts'
import { addTokenFilters } from './token-filters.ts'
import {
  addExpiry,
  addPatch,
  type Expiry,
  type PatchOptions,
  readCredentialInput,
  readDuration,
  readExpiry,
  readName,
  readNewCredential,
  readPatchOptions,
  statusOption,
} from './values.ts'
import { detailedToken, historyRow, recentRows, tokenFields, tokenRow, usageRows, usageTitle } from './views.ts'

interface NewTokenOptions extends Expiry {
  readonly subAccount: string
  readonly name: string
  readonly status: 'active' | 'inactive'
  readonly credential?: string
  readonly credentialStdin?: boolean
}

function readOverlapTime(text: string): number {
  const ms = readDuration(text)
  if (ms > MAX_OVERLAP_SECONDS * 1000) throw new InvalidArgumentError('It is at most 30d.')
  return ms
}

const VISIBLE_ARGUMENT =
  'Warning: arguments can be seen by every user of this machine, and shells remember them. ' +
  '--credential-stdin reads the credential from standard input instead.'

async function readCredentialOption(
  { credential, credentialStdin }: NewTokenOptions,
  streams: Streams,
  output: Output,
): Promise<string | undefined> {
  if (credential !== undefined && credentialStdin) {
    throw new UsageError('--credential and --credential-stdin exclude each other')
  }
  if (credential !== undefined) output.stderr(VISIBLE_ARGUMENT)
  return credentialStdin ? readCredentialInput(streams) : credential
}

/** Only commands that create a credential show one, unless asked to. */
export function addTokenCommands(program: Command, manage: Manage, streams: Streams): void {
  const token = program.command('token').description('tokens')
  manage<NewTokenOptions>(
    addExpiry(
      token
        .command('create')
        .description('create a token, and show its credential')
        .requiredOption('--sub-account <id>', 'the sub-account that owns it')
        .requiredOption('--name <name>', 'its name', readName)
        .addOption(statusOption('active or inactive').default('active')),
    )
      .option('--credential <value>', 'an existing credential; other users can see it', (text) =>
        readNewCredential(text),
      )
      .option('--credential-stdin', 'read an existing credential of any format from standard input'),
    async (management, options, output) => {
      const { subAccount: subAccountId, name, status } = options
      const expiresAt = toTimeOrNull(readExpiry(options, Date.now()))
      const credential = await readCredentialOption(options, streams, output)
      show(output, await management.createToken({ subAccountId, name, status, expiresAt }, credential))
    },
  )
  manage<{ showCredential?: boolean }>(
    token
      .command('get')
      .description('show one token')
      .argument('<id>', 'the token')
      .option('--show-credential', 'show its whole credential'),
    async (management, { showCredential }, output, id) => {
      const got = await management.getToken(id, showCredential ? 'shown' : 'masked')
      const account = await management.accountOf(id)
      show(output, { ...detailedToken(got), account }, { ...tokenFields(got), account })
    },
  )
  manage<{ subAccount?: string }>(
    addPaging(addTokenFilters(addAccount(token.command('list'))))
      .description('the tokens of an account, newest first, with the ends of their credentials')
      .addOption(
        new Option('--sort <field>', 'in another order; with a minus in front of the field, descending')
          .choices(SORTS)
          .argParser(String),
      ),
    async (management, { subAccount: subAccountId, ...filters }, output) => {
      const page = await management.listTokens({ ...filters, subAccountId })
      showPage(output, { ...page, items: page.items.map(detailedToken) }, 'token', tokenRow)
    },
    'tokens',
  )
  manage<Expiry & PatchOptions & { name?: string; status?: 'active' | 'inactive'; tag?: readonly string[] }>(
    addPatch(
      addExpiry(
        token
          .command('set')
          .description('change fields of a token; what is not named stays as it is')
          .argument('<id>', 'the token')
          .option('--name <name>', 'its name')
          .addOption(statusOption('active or inactive'))
          .option('--tag <tag...>', 'its tags, instead of those it has'),
      ),
      ['expiresAt', 'tags', 'metadata', 'policy'],
    ),
    async (management, options, output, id) => {
      const { name, status, tag: tags } = options
      const expiresAt = toTimeOrNull(readExpiry(options, Date.now())) ?? undefined
      const changed = await management.patchToken(id, readPatchOptions({ name, status, tags, expiresAt }, options))
      show(output, detailedToken(changed), tokenFields(changed))
    },
  )
  const setStatus = (name: string, description: string, status: 'active' | 'inactive') =>
    manage(
      token.command(name).description(description).argument('<id>', 'the token'),
      async (management, _options, output, id) => {
        const changed = await management.patchToken(id, { status })
        show(output, detailedToken(changed), tokenFields(changed))
      },
    )
  setStatus('disable', 'refuse a token from now on', 'inactive')
  setStatus('enable', 'accept a token again', 'active')
  manage<{ per: string; from?: string; before?: string }>(
    token
      .command('usage')
      .description('how often a token was accepted and refused')
      .argument('<id>', 'the token')
      .addOption(
        new Option('--per <length>', 'hour or day, of UTC').choices(['hour', 'day']).default('day').argParser(String),
      )
      .option('--from <time>', 'from the hour or day of this time on; 24 hours or 30 days unless set')
      .option('--before <time>', 'only hours or days before this time'),
    async (management, range, output, id) => {
      const usage = await management.tokenUsage(id, { ...range })
      output.result(usage, { title: usageTitle(usage), rows: usageRows(usage, output.isTerminal) })
    },
  )
  manage(
    token
      .command('recent')
      .description('from where a token was accepted last, and why it was refused')
      .argument('<id>', 'the token'),
    async (management, _options, output, id) => {
      const recent = await management.recentVerifications(id)
      const rows = recentRows(recent)
      output.result(recent, { rows, ...(rows.length === 0 && { title: 'No verification is on record.' }) })
    },
  )
  manage<{ overlap: number }>(
    token
      .command('rotate')
      .description('give a token a new credential, and show it')
      .argument('<id>', 'the token')
      .option(
        '--overlap <time>',
        'how long the former credential still works, such as 1h; at most 30d',
        readOverlapTime,
        0,
      ),
    async (management, { overlap }, output, id) => show(output, await management.rotateToken(id, overlap / 1000)),
  )
  manage(
    token
      .command('delete')
      .description('delete a token permanently; it is refused from now on')
      .argument('<id>', 'the token'),
    async (management, _options, output, id) => {
      const { _id } = await management.deleteToken(id)
      output.result({ _id, deleted: true }, { title: `Deleted ${_id}.` })
    },
  )
  addBulkCommands(token, manage)
}

export function addHistoryCommands(program: Command, manage: Manage, onStore: OnStore): void {
  const history = program.command('history').description('the record of every change')
  manage(
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
    async (management, filters, output, id) =>
      showPage(output, await management.listHistory(id || undefined, { ...filters }), 'change', historyRow),
    'history',
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
