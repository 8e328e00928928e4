// Tokens one by one.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { TokenPatch } from '../../../client/latchkey-client.ts'
import { SORTS } from '../../tokens/model/page.ts'
import { toTimeOrNull } from '../../tokens/model/times.ts'
import { MAX_OVERLAP_SECONDS } from '../../tokens/model/update.ts'
import { addAccount, addPaging, type OnTarget, show, showPage } from '../command.ts'
import type { Target } from '../target.ts'
import { UsageError } from '../terminal/exit-codes.ts'
import type { Output, Streams } from '../terminal/output.ts'
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
} from '../terminal/values.ts'
import { detailedToken, recentRows, tokenFields, tokenRow, usageRows, usageTitle } from '../terminal/views.ts'
import { addBulkCommands } from './bulk.ts'
import { addTokenFilters } from './token-filters.ts'

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

const MASKED = { credentials: 'masked' } as const

const patch = (target: Target, id: string, body: TokenPatch) => target.call('patchToken', { id, ...MASKED, body })

/** Only commands that create a credential show one, unless asked to. */
export function addTokenCommands(program: Command, onTarget: OnTarget, streams: Streams): void {
  const token = program.command('token').description('tokens')
  addCreation(token, onTarget, streams)
  addReads(token, onTarget)
  addChanges(token, onTarget)
  addUses(token, onTarget)
  addEnds(token, onTarget)
  addBulkCommands(token, onTarget)
}

function addCreation(token: Command, onTarget: OnTarget, streams: Streams): void {
  onTarget<NewTokenOptions>(
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
    async (target, options, output) => {
      const { subAccount: subAccountId, name, status } = options
      const expiresAt = toTimeOrNull(readExpiry(options, Date.now()))
      const credential = await readCredentialOption(options, streams, output)
      const body = { subAccountId, name, status, expiresAt }
      const created =
        credential === undefined ? target.call('createToken', { body }) : target.importToken(body, credential)
      show(output, await created)
    },
  )
}

function addReads(token: Command, onTarget: OnTarget): void {
  onTarget<{ showCredential?: boolean }>(
    token
      .command('get')
      .description('show one token')
      .argument('<id>', 'the token')
      .option('--show-credential', 'show its whole credential'),
    async (target, { showCredential }, output, id) => {
      const masked = showCredential ? {} : MASKED
      const got = await target.call('getToken', { id, include: 'details', ...masked })
      const account = await target.accountOf(id)
      show(output, { ...detailedToken(got), account }, { ...tokenFields(got), account })
    },
  )
  onTarget<{ subAccount?: string }>(
    addPaging(addTokenFilters(addAccount(token.command('list'))))
      .description('the tokens of an account, newest first, with the ends of their credentials')
      .addOption(
        new Option('--sort <field>', 'in another order; with a minus in front of the field, descending')
          .choices(SORTS)
          .argParser(String),
      ),
    async (target, { subAccount: subAccountId, ...filters }, output) => {
      const page = await target.call('listTokens', { ...filters, subAccountId, include: 'details', ...MASKED })
      showPage(output, { ...page, items: page.items.map(detailedToken) }, 'token', tokenRow)
    },
    (target, query) => target.csv('listTokens', query),
  )
}

function addChanges(token: Command, onTarget: OnTarget): void {
  onTarget<Expiry & PatchOptions & { name?: string; status?: 'active' | 'inactive'; tag?: readonly string[] }>(
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
    async (target, options, output, id) => {
      const { name, status, tag: tags } = options
      const expiresAt = toTimeOrNull(readExpiry(options, Date.now())) ?? undefined
      const changed = await patch(target, id, readPatchOptions({ name, status, tags, expiresAt }, options))
      show(output, detailedToken(changed), tokenFields(changed))
    },
  )
  const setStatus = (name: string, description: string, status: 'active' | 'inactive') =>
    onTarget(
      token.command(name).description(description).argument('<id>', 'the token'),
      async (target, _options, output, id) => {
        const changed = await patch(target, id, { status })
        show(output, detailedToken(changed), tokenFields(changed))
      },
    )
  setStatus('disable', 'refuse a token from now on', 'inactive')
  setStatus('enable', 'accept a token again', 'active')
}

function addUses(token: Command, onTarget: OnTarget): void {
  onTarget<{ per: 'hour' | 'day'; from?: string; before?: string }>(
    token
      .command('usage')
      .description('how often a token was accepted and refused')
      .argument('<id>', 'the token')
      .addOption(
        new Option('--per <length>', 'hour or day, of UTC').choices(['hour', 'day']).default('day').argParser(String),
      )
      .option('--from <time>', 'from the hour or day of this time on; 24 hours or 30 days unless set')
      .option('--before <time>', 'only hours or days before this time'),
    async (target, range, output, id) => {
      const usage = await target.call('getTokenUsage', { ...range, id })
      output.result(usage, { title: usageTitle(usage), rows: usageRows(usage, output.isTerminal) })
    },
  )
  onTarget(
    token
      .command('recent')
      .description('from where a token was accepted last, and why it was refused')
      .argument('<id>', 'the token'),
    async (target, _options, output, id) => {
      const recent = await target.call('getTokenRecent', { id })
      const rows = recentRows(recent)
      output.result(recent, { rows, ...(rows.length === 0 && { title: 'No verification is on record.' }) })
    },
  )
}

/** Of a credential, or of the token. */
function addEnds(token: Command, onTarget: OnTarget): void {
  onTarget<{ overlap: number }>(
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
    async (target, { overlap }, output, id) =>
      show(output, await target.call('rotateToken', { id, body: { overlapSeconds: overlap / 1000 } })),
  )
  onTarget(
    token
      .command('delete')
      .description('delete a token permanently; it is refused from now on')
      .argument('<id>', 'the token'),
    async (target, _options, output, id) => {
      const { _id } = await target.call('deleteToken', { id })
      output.result({ _id, deleted: true }, { title: `Deleted ${_id}.` })
    },
  )
}
