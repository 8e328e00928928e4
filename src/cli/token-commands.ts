// Tokens one by one, and their history.
import { type Command, InvalidArgumentError } from 'commander'
import { OperatorError } from '../tokens/errors.ts'
import { readTokenQuery } from '../tokens/model/page.ts'
import { toTimeOrNull } from '../tokens/model/times.ts'
import { MAX_OVERLAP_SECONDS, readTokenPatch } from '../tokens/model/update.ts'
import { ACTIONS, entryOf, readHistoryQuery } from '../tokens/record/history.ts'
import { addPaging, type OnStore, pageTitle, show, showPage } from './command.ts'
import { verifyHistory } from './doctor.ts'
import type { Output, Streams } from './output.ts'
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
  readStatus,
} from './values.ts'
import * as views from './views.ts'

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
    throw new OperatorError('--credential and --credential-stdin exclude each other')
  }
  if (credential !== undefined) output.stderr(VISIBLE_ARGUMENT)
  return credentialStdin ? readCredentialInput(streams) : credential
}

/** Only commands that create a credential show one, unless asked to. */
export function addTokenCommands(program: Command, onStore: OnStore, streams: Streams): void {
  const token = program.command('token').description('tokens')
  onStore<NewTokenOptions>(
    addExpiry(
      token
        .command('create')
        .description('create a token, and show its credential')
        .requiredOption('--sub-account <id>', 'the sub-account that owns it')
        .requiredOption('--name <name>', 'its name', readName)
        .option('--status <status>', 'active or inactive', readStatus, 'active'),
    )
      .option('--credential <value>', 'an existing credential; other users can see it', (text) =>
        readNewCredential(text),
      )
      .option('--credential-stdin', 'read an existing credential of any format from standard input'),
    async ({ operator, registry }, options, output) => {
      const { subAccount: subAccountId, name, status } = options
      const expiresAt = readExpiry(options, operator.origin().at)
      const credential = await readCredentialOption(options, streams, output)
      const accountId = await operator.getOwner(subAccountId)
      const { subAccount } = await registry.getSubAccount(operator.actFor(accountId), subAccountId)
      const created = await operator.createTokens([{ accountId, subAccountId, name, status, expiresAt, credential }])
      // Not read back: where credentials are shown once, a failure would lose this one.
      for (const token of created) show(output, views.token({ ...token, subAccount }))
    },
  )
  onStore<{ showCredential?: boolean }>(
    token
      .command('get')
      .description('show one token')
      .argument('<id>', 'the token')
      .option('--show-credential', 'show its credential too'),
    async ({ operator, registry }, { showCredential }, output, id) => {
      const row = await operator.getToken(id)
      const caller = operator.actFor(row.token.accountId)
      const credential = showCredential ? { token: (await registry.getToken(caller, id)).credential } : {}
      show(output, { ...views.detailedToken(row), ...credential, account: row.token.accountId })
    },
  )
  onStore<{ account: string; subAccount?: string }>(
    addPaging(
      token
        .command('list')
        .description('the tokens of an account, newest first, without their credentials')
        .requiredOption('--account <id>', 'the account')
        .option('--sub-account <id>', 'only of this sub-account')
        .option('--status <status>', 'only active or inactive ones')
        .option('--search <text>', 'part of its name')
        .option('--credential-end <characters>', 'only with a credential that ends with these four characters')
        .option('--tag <tag...>', 'only with all of these tags'),
    ),
    async ({ operator }, { account, subAccount, ...filters }, output) => {
      const query = readTokenQuery({ ...filters, subAccountId: subAccount }, operator.origin().at)
      const page = await operator.listTokens(account, query)
      showPage(output, { ...page, items: page.items.map(views.listedToken) }, 'token')
    },
  )
  const setStatus = (name: string, description: string, status: 'active' | 'inactive') =>
    onStore(
      token.command(name).description(description).argument('<id>', 'the token'),
      async ({ operator, registry }, _options, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        await registry.updateToken(caller, id, { status }, operator.origin())
        show(output, views.listedToken(await operator.getToken(id)))
      },
    )
  onStore<Expiry & PatchOptions & { name?: string; status?: string; tag?: readonly string[] }>(
    addPatch(
      addExpiry(
        token
          .command('set')
          .description('change fields of a token; what is not named stays as it is')
          .argument('<id>', 'the token')
          .option('--name <name>', 'its name')
          .option('--status <status>', 'active or inactive', readStatus)
          .option('--tag <tag...>', 'its tags, instead of those it has'),
      ),
      ['expiresAt', 'tags', 'metadata', 'policy'],
    ),
    async ({ operator, registry }, options, output, id) => {
      const { name, status, tag: tags } = options
      const expiresAt = toTimeOrNull(readExpiry(options, operator.origin().at)) ?? undefined
      const caller = operator.actFor(await operator.getOwner(id))
      const patch = readTokenPatch(readPatchOptions({ name, status, tags, expiresAt }, options))
      await registry.updateToken(caller, id, patch, operator.origin())
      show(output, views.detailedToken(await operator.getToken(id)))
    },
  )
  setStatus('disable', 'refuse a token from now on', 'inactive')
  setStatus('enable', 'accept a token again', 'active')
  onStore<{ overlap: number }>(
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
    async ({ operator, registry }, { overlap }, output, id) => {
      const caller = operator.actFor(await operator.getOwner(id))
      show(output, views.token(await registry.rotateToken(caller, id, overlap / 1000, operator.origin())))
    },
  )
  onStore(
    token
      .command('delete')
      .description('delete a token permanently; it is refused from now on')
      .argument('<id>', 'the token'),
    async ({ operator, registry }, _options, output, id) => {
      const caller = operator.actFor(await operator.getOwner(id))
      const { id: _id } = await registry.deleteToken(caller, id, operator.origin())
      output.result({ _id, deleted: true }, { title: `Deleted ${_id}.` })
    },
  )
}

export function addHistoryCommands(program: Command, onStore: OnStore): void {
  const history = program.command('history').description('the record of every change')
  onStore(
    addPaging(
      history
        .command('list')
        .description('the changes of an account or of one token, latest first')
        .argument('<id>', 'an account or a token')
        .option('--by <actor>', 'only what this account key, `operator`, or `jwt:` or `oidc:` subject did')
        .option('--action <action>', `only one of ${ACTIONS.join(', ')}`)
        .option('--from <time>', 'only changes at this time or later, such as 2030-01-31T12:00:00Z')
        .option('--before <time>', 'only changes before this time')
        .option('--after <position>', 'only changes after this position (seq), oldest first; 0 for all')
        .option('--before-position <position>', 'only changes before this position'),
    ),
    async ({ operator, registry }, filters, output, id) => {
      const tokenId = id.startsWith('acc_') ? undefined : id
      const accountId = tokenId === undefined ? (await operator.getAccount(id)).id : await operator.getOwner(id)
      const query = { ...readHistoryQuery({ ...filters }), tokenId }
      const page = await registry.listHistory(operator.actFor(accountId), query)
      output.result(
        page.items.map((row) => entryOf(row, row.seq)),
        {
          title: pageTitle(page, 'change'),
          rows: page.items.map(views.historyRow),
        },
      )
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
