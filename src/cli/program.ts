// The operator's command line, on the same registry as HTTP.
import { Command, CommanderError } from 'commander'
import { packageVersion, readProcessConfig } from '../config.ts'
import { Failure, OperatorError } from '../tokens/errors.ts'
import { addAccountCommands, addKeyCommands, addSubAccountCommands } from './account-commands.ts'
import { addBackupCommands } from './backup.ts'
import { onStoreWith } from './command.ts'
import { addCopyCommand } from './copy.ts'
import { explainError, explainPermissions } from './error-messages.ts'
import { addFindCommand } from './find.ts'
import { addMasterKeyCommands } from './master-key-commands.ts'
import { Output, printableLines, type Streams } from './output.ts'
import { addReadyCommand } from './ready.ts'
import { addStoreCommands } from './store-commands.ts'
import { addHistoryCommands, addTokenCommands } from './token-commands.ts'

/** Runs one command and returns the exit code. */
export async function run(args: readonly string[], streams: Streams): Promise<number> {
  try {
    await buildProgram(streams).parseAsync([...args], { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode
    const message = error instanceof Failure || error instanceof OperatorError ? error.message : explainError(error)
    if (message === undefined) throw error
    const why = explainPermissions(error, message)
    const repeated = why === undefined || message.includes(why)
    new Output(streams, false).stderr(`latchkey: ${message}${repeated ? '' : `\n${why}`}`)
    return 1
  }
}

/** Commander repeats unexpected arguments, which may be part of a secret: `--credential my secret`, `--credentail=…`. */
function withoutValues(text: string): string {
  return text
    .replace(/^(error: too many arguments.*? but got \d+): .*/s, '$1.\n')
    .replace(/^(error: unknown option '[^'=]*)=.*/s, "$1'\n")
}

function buildProgram(streams: Streams): Command {
  const program = new Command('latchkey')
    .description('Manages the API tokens of sub-accounts. Settings come from the environment; see docs/operations.md.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .configureOutput({
      writeOut: (text) => streams.stdout.write(text),
      writeErr: (text) => streams.stderr.write(printableLines(text)),
      outputError: (text, write) => write(withoutValues(text)),
    })
    .showHelpAfterError('(add --help for usage)')
    .exitOverride()
  const onStore = onStoreWith(streams)

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
  addAccountCommands(program, onStore)
  addKeyCommands(program, onStore)
  addSubAccountCommands(program, onStore)
  addTokenCommands(program, onStore, streams)
  addFindCommand(program, onStore, streams)
  addHistoryCommands(program, onStore)
  addStoreCommands(program, onStore)
  addMasterKeyCommands(program, onStore)
  addCopyCommand(program, streams)
  addBackupCommands(program, streams)
  return program
}
