// The command line: the same registry as the HTTP door, for the operator. All commands in one list.
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { type Latchkey, openLatchkey } from '../compose.ts'
import { type Config, readProcessConfig } from '../config.ts'
import { Failure, OperatorError } from '../tokens/errors.ts'
import { parseTime } from '../tokens/fields.ts'
import { examine, verifyHistory } from './doctor.ts'
import { importTokens } from './import.ts'
import { Output, type Streams, type Table } from './output.ts'
import { seed } from './seed.ts'
import { serve } from './serve.ts'
import * as tell from './tell.ts'
import { readEmail, readName, readNewCredential, readStatus } from './values.ts'

/** Runs one command and returns the exit code. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  const program = buildProgram(streams)
  try {
    await program.parseAsync([...args], { from: 'user' })
    return process.exitCode === undefined ? 0 : Number(process.exitCode)
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    if (!(error instanceof Failure || error instanceof OperatorError)) throw error
    new Output(streams, false).problem(`latchkey: ${error.message}`)
    return 1
  }
}

function buildProgram(streams: Streams): Command {
  const program = new Command('latchkey')
    .description('Manages the API tokens of sub-accounts. Settings come from the environment; see the README.')
    .configureOutput({ writeOut: (text) => streams.stdout.write(text), writeErr: (text) => streams.stderr.write(text) })
    .showHelpAfterError('(add --help for what is possible)')
    .exitOverride()

  /** A command that opens the store, does its work and closes it again. */
  const onStore =
    <Options extends object>(
      work: (latchkey: Latchkey, options: Options, output: Output, argument: string) => Promise<void>,
    ) =>
    async (...received: unknown[]) => {
      const command = received.at(-1) as Command
      const argument = typeof received[0] === 'string' ? received[0] : ''
      const options = command.opts<Options & { json?: boolean }>()
      const latchkey = await openLatchkey(readProcessConfig())
      try {
        await work(latchkey, options, new Output(streams, options.json === true), argument)
      } finally {
        await latchkey.store.close()
      }
    }
  const JSON_OPTION = ['--json', 'print one JSON document'] as const

  program
    .command('serve')
    .description('serve until SIGTERM')
    .option('--demo', 'make a demo account on an empty store')
    .action(async ({ demo }: { demo?: boolean }) => {
      const config: Config = readProcessConfig()
      await serve(config, demo === true, new Output(streams, false))
    })

  program
    .command('migrate')
    .description('bring the store up to date')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ applied }, _options, output) => {
        const title = applied.length === 0 ? 'The store is up to date.' : `Applied: ${applied.join(', ')}`
        output.result({ applied }, { title })
      }),
    )

  const account = program.command('account').description('main accounts')
  account
    .command('create')
    .requiredOption('--name <name>', 'name of the account', readName)
    .option(...JSON_OPTION)
    .action(
      onStore<{ name: string }>(async ({ operator }, { name }, output) => {
        show(output, tell.account(await operator.createAccount(name)))
      }),
    )
  account
    .command('list')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator }, _options, output) => {
        showAll(output, (await operator.listAccounts()).map(tell.account), 'No accounts yet.')
      }),
    )

  const key = program.command('key').description('account keys: the bearers of main accounts')
  key
    .command('create')
    .requiredOption('--account <id>', 'the account')
    .option('--name <name>', 'what it is for', readName, 'unnamed')
    .option('--expires-in <time>', 'such as 90d, 12h, 30m', readDuration)
    .option('--expires-at <time>', 'ISO 8601, such as 2030-01-31T12:00:00Z', readTime)
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string; name: string; expiresIn?: number; expiresAt?: number }>(
        async ({ operator }, { account: accountId, name, expiresIn, expiresAt }, output) => {
          if (expiresIn !== undefined && expiresAt !== undefined) {
            throw new OperatorError('--expires-in and --expires-at exclude each other')
          }
          const expiry = expiresIn === undefined ? (expiresAt ?? null) : operator.origin().at + expiresIn
          show(output, tell.newKey(await operator.createKey(accountId, name, expiry)))
        },
      ),
    )
  key
    .command('list')
    .requiredOption('--account <id>', 'the account')
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string }>(async ({ operator }, { account: accountId }, output) => {
        showAll(output, (await operator.listKeys(accountId)).map(tell.key), 'No account keys yet.')
      }),
    )
  key
    .command('revoke')
    .argument('<id>', 'the account key')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator }, _options, output, id) => {
        show(output, tell.key(await operator.revokeKey(id)))
      }),
    )

  const subAccount = program.command('sub-account').description('sub-accounts')
  subAccount
    .command('create')
    .requiredOption('--account <id>', 'the account that owns it')
    .requiredOption('--name <name>', 'its name', readName)
    .requiredOption('--email <email>', 'its e-mail address', readEmail)
    .requiredOption('--company-name <name>', 'its company', readName)
    .option(...JSON_OPTION)
    .action(
      onStore<{ account: string; name: string; email: string; companyName: string }>(
        async ({ operator }, { account: accountId, name, email, companyName }, output) => {
          const [created] = await operator.createSubAccounts(accountId, [{ name, email, companyName }])
          if (created !== undefined) show(output, tell.subAccount(created))
        },
      ),
    )
  for (const [verb, status] of [
    ['suspend', 'suspended'],
    ['resume', 'active'],
  ] as const) {
    subAccount
      .command(verb)
      .argument('<id>', 'the sub-account')
      .option(...JSON_OPTION)
      .action(
        onStore(async ({ operator, registry }, _options, output, id) => {
          const caller = operator.actFor(await operator.getOwner(id))
          const row = await registry.updateSubAccount(caller, id, { status }, operator.origin())
          show(output, tell.subAccount(row.subAccount))
        }),
      )
  }

  const token = program.command('token').description('tokens')
  token
    .command('create')
    .requiredOption('--sub-account <id>', 'the sub-account that owns it')
    .requiredOption('--name <name>', 'its name', readName)
    .option('--status <status>', 'active or inactive', readStatus, 'active')
    .option('--expires-at <time>', 'ISO 8601, such as 2030-01-31T12:00:00Z', readTime)
    .option('--credential <value>', 'an existing credential of any format', readNewCredential)
    .option(...JSON_OPTION)
    .action(
      onStore<{
        subAccount: string
        name: string
        status: 'active' | 'inactive'
        expiresAt?: number
        credential?: string
      }>(async ({ operator, registry }, { subAccount: subAccountId, ...fields }, output) => {
        const accountId = await operator.getOwner(subAccountId)
        const [created] = await operator.createTokens([{ accountId, subAccountId, ...fields }])
        if (created === undefined) return
        show(output, tell.token(await registry.getToken(operator.actFor(accountId), created.id)))
      }),
    )
  for (const [verb, status] of [
    ['disable', 'inactive'],
    ['enable', 'active'],
  ] as const) {
    token
      .command(verb)
      .argument('<id>', 'the token')
      .option(...JSON_OPTION)
      .action(
        onStore(async ({ operator, registry }, _options, output, id) => {
          const caller = operator.actFor(await operator.getOwner(id))
          show(output, tell.token(await registry.updateToken(caller, id, { status }, operator.origin())))
        }),
      )
  }
  token
    .command('rotate')
    .argument('<id>', 'the token')
    .option('--overlap <time>', 'how long the former credential still works, such as 1h', readDuration, 0)
    .option(...JSON_OPTION)
    .action(
      onStore<{ overlap: number }>(async ({ operator, registry }, { overlap }, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        show(output, tell.token(await registry.rotateToken(caller, id, overlap / 1000, operator.origin())))
      }),
    )
  token
    .command('delete')
    .argument('<id>', 'the token')
    .option(...JSON_OPTION)
    .action(
      onStore(async ({ operator, registry }, _options, output, id) => {
        const caller = operator.actFor(await operator.getOwner(id))
        const { id: _id } = await registry.deleteToken(caller, id, operator.origin())
        output.result({ _id, deleted: true }, { title: `Deleted ${_id}.` })
      }),
    )

  program
    .command('import')
    .description('bring in tokens from a file, one JSON object a line; see the README')
    .argument('<file>', 'a .ndjson file')
    .option('--skip-bad', 'pass over bad lines instead of refusing the file')
    .option(...JSON_OPTION)
    .action(
      onStore<{ skipBad?: boolean }>(async ({ operator }, { skipBad }, output, file) => {
        const counts = await importTokens(operator, file, skipBad === true, output)
        output.result(counts, {
          title: `${counts.imported} imported, ${counts.unchanged} already there, ${counts.bad} bad.`,
        })
      }),
    )

  program
    .command('seed')
    .description('make a synthetic estate')
    .requiredOption('--accounts <n>', 'number of accounts', readCount)
    .requiredOption('--sub-accounts <n>', 'sub-accounts of each account', readCount)
    .requiredOption('--tokens <n>', 'tokens of each account', readCount)
    .option(...JSON_OPTION)
    .action(
      onStore<{ accounts: number; subAccounts: number; tokens: number }>(async ({ operator }, estate, output) => {
        if (estate.subAccounts === 0 && estate.tokens > 0) throw new OperatorError('tokens need sub-accounts')
        const made = await seed(operator, estate, output)
        output.result(made, {
          title: `Made ${made.subAccounts} sub-accounts and ${made.tokens} tokens.`,
          rows: made.accounts,
        })
      }),
    )

  program
    .command('history')
    .description('the record of every change')
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

  program
    .command('doctor')
    .description('look the store over')
    .option(...JSON_OPTION)
    .action(
      onStore(async (latchkey, _options, output) => {
        const report = await examine(latchkey)
        output.result(report, { rows: report.checks })
        if (!report.healthy) throw new OperatorError('the store is not healthy')
      }),
    )

  return program
}

function show(output: Output, thing: tell.Told): void {
  output.result(thing, { rows: [flat(thing)] })
}

function showAll(output: Output, things: readonly tell.Told[], none: string): void {
  output.result(things, things.length === 0 ? { title: none } : { rows: things.map(flat) })
}

/** What a table can show: an embedded object by its name. */
function flat(thing: tell.Told): Table[number] {
  const cells = Object.entries(thing).map(([name, value]) => [
    name,
    value !== null && typeof value === 'object' ? value.name : value,
  ])
  return Object.fromEntries(cells)
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function readDuration(text: string): number {
  const [, amount, unit] = /^([0-9]{1,6})([smhd])$/.exec(text) ?? []
  const length = UNITS_MS[unit ?? '']
  if (length === undefined) throw new InvalidArgumentError('It is a number and a unit, such as 90d, 12h, 30m or 45s.')
  return Number(amount) * length
}

function readTime(text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw new InvalidArgumentError('It is an ISO 8601 time, such as 2030-01-31T12:00:00Z.')
  return time
}

function readCount(text: string): number {
  if (/^[0-9]{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It is a whole number.')
}
