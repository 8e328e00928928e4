// The operator's command line, on the same registry as HTTP.
import { Command, CommanderError } from 'commander'
import { packageVersion, readProcessConfig } from '../config.ts'
import { Failure, OperatorError } from '../tokens/errors.ts'
import { addAccountCommands, addKeyCommands, addSubAccountCommands } from './account-commands.ts'
import { addBackupCommands } from './backup-commands.ts'
import { CONTEXT_OPTION, isLocalOnly, onStoreWith, onTargetWith, requireLocal } from './command.ts'
import { addCompletionCommand } from './completion.ts'
import { addContextCommands } from './context-commands.ts'
import { addCopyCommand } from './copy-command.ts'
import { explainError, explainPermissions } from './error-messages.ts'
import { exitCodeOf, ServerFailure } from './exit-codes.ts'
import { addFindCommand } from './find.ts'
import { addLeakCommand } from './leak-commands.ts'
import { addMasterKeyCommands } from './master-key-commands.ts'
import { Output, printableLines, type Streams } from './output.ts'
import { addReadyCommand } from './ready.ts'
import { addSidecarCommand } from './sidecar.ts'
import { addStoreCommands } from './store-commands.ts'
import { UsageError } from './target.ts'
import { addHistoryCommands, addTokenCommands } from './token-commands.ts'
import { addVerificationCommands } from './verification-commands.ts'
import { addVerifierCommands } from './verifier-commands.ts'
import { addWebhookCommands } from './webhook-commands.ts'

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
