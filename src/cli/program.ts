// The operator's command line, on the same registry as HTTP.
import { Command, CommanderError } from 'commander'
import { packageVersion, readProcessConfig } from '../config.ts'
import { Failure, OperatorError } from '../tokens/model/errors.ts'
import { CONTEXT_OPTION, isLocalOnly, onStoreWith, onTargetWith, requireLocal } from './command.ts'
import { addAccountCommands } from './commands/account.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addContextCommands } from './commands/context.ts'
import { addHistoryCommands } from './commands/history.ts'
import { addKeyCommands } from './commands/key.ts'
import { addLeakCommand } from './commands/leak.ts'
import { addSubAccountCommands } from './commands/sub-account.ts'
import { addTokenCommands } from './commands/token.ts'
import { addVerificationCommands } from './commands/verification.ts'
import { addVerifierCommands } from './commands/verifier.ts'
import { addWebhookCommands } from './commands/webhook.ts'
import { addReadyCommand } from './ready.ts'
import { addSidecarCommand } from './sidecar.ts'
import { addBackupCommands } from './store/backup-commands.ts'
import { addCopyCommand } from './store/copy-command.ts'
import { addFindCommand } from './store/find.ts'
import { addMasterKeyCommands } from './store/master-key-commands.ts'
import { addStoreCommands } from './store/store-commands.ts'
import { explainError, explainPermissions } from './terminal/error-messages.ts'
import { exitCodeOf, ServerFailure, UsageError } from './terminal/exit-codes.ts'
import { Output, printableLines, type Streams } from './terminal/output.ts'

/** Runs one command and returns the exit code. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  try {
    await buildProgram(streams).parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    // Commander has said what is wrong.
    if (!(error instanceof CommanderError)) new Output(streams, false).stderr(`latchkey: ${explain(error)}`)
    return exitCodeOf(error)
  }
}

/** Throws an error that can only be a bug. */
function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof ServerFailure) return error.message
  const message = error instanceof Failure || error instanceof OperatorError ? error.message : explainError(error)
  if (message === undefined) throw error
  const why = explainPermissions(error, message)
  return why === undefined || message.includes(why) ? message : `${message}\n${why}`
}

/** Commander repeats unexpected arguments, which may be part of a secret: `--credential my secret`, `--credentail=…`. */
function withoutValues(text: string): string {
  return text
    .replace(/^(error: too many arguments.*? but got \d+): .*/s, '$1.\n')
    .replace(/^(error: unknown option '[^'=]*)=.*/s, "$1'\n")
}

const HELP = `
Commands about tokens, sub-accounts, account keys, verifiers, webhooks and the history also ask a server: see
\`latchkey context --help\`.
Exit codes: 0 done, 1 refused or not found, 2 wrong usage, 3 unreachable, 4 not authenticated or not allowed.`

export function buildProgram(streams: Streams): Command {
  const program = new Command('latchkey')
    .description(
      'Manages the API tokens of sub-accounts. Settings come from the environment; see docs/operate/settings.md.',
    )
    .addHelpText('after', HELP)
    .version(packageVersion(), '-V, --version', 'print the version')
    .configureOutput({
      writeOut: (text) => streams.stdout.write(text),
      writeErr: (text) => streams.stderr.write(printableLines(text)),
      outputError: (text, write) => write(withoutValues(text)),
    })
    .addOption(CONTEXT_OPTION)
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions: (command) => (isLocalOnly(command) ? [] : [CONTEXT_OPTION]),
    })
    .hook('preAction', (_program, command) => requireLocal(command))
    .showHelpAfterError('(add --help for usage)')
    .exitOverride()
  const onStore = onStoreWith(streams)
  const onTarget = onTargetWith(streams)

  program
    .command('serve')
    .description('serve until SIGTERM')
    .option('--demo', 'create a demo account in an empty store')
    .action(async ({ demo }: { demo?: boolean }) => {
      const config = readProcessConfig()
      // Loaded late: the HTTP libraries take longer to load than most commands take to run.
      const { serve } = await import('./serve.ts')
      return serve(config, demo === true, new Output(streams, false))
    })
  addReadyCommand(program, streams)
  addSidecarCommand(program, streams)
  addAccountCommands(program, onStore, streams)
  addKeyCommands(program, onTarget)
  addSubAccountCommands(program, onTarget)
  addTokenCommands(program, onTarget, streams)
  addVerificationCommands(program, onTarget, streams)
  addVerifierCommands(program, onTarget)
  addContextCommands(program, streams)
  addFindCommand(program, onStore, streams)
  addLeakCommand(program, onTarget, streams)
  addHistoryCommands(program, onTarget, onStore)
  addWebhookCommands(program, onTarget)
  addStoreCommands(program, onStore)
  addMasterKeyCommands(program, onStore)
  addCopyCommand(program, streams)
  addBackupCommands(program, streams)
  addCompletionCommand(program, streams)
  return program
}
