// Copies the whole store to another engine or place.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { openCopy } from '../../compose.ts'
import { type Config, isPostgres, readProcessConfig } from '../../config.ts'
import { OperatorError } from '../../tokens/model/errors.ts'
import { copyStore } from '../../tokens/upkeep/copy.ts'
import { JSON_OPTION } from '../command.ts'
import { Output, type Streams } from '../terminal/output.ts'
import { showPhases } from '../terminal/progress.ts'

interface Options {
  readonly to: string
  readonly json?: boolean
}

export function addCopyCommand(program: Command, streams: Streams): void {
  program
    .command('copy')
    .description('copy the whole store, which no server may use meanwhile, to an empty place; run again if interrupted')
    .requiredOption('--to <place>', 'postgres://… or a folder; the password better in PGPASSWORD')
    .option(...JSON_OPTION)
    .action(({ to, json }: Options) => copy(readProcessConfig(), to, new Output(streams, json === true)))
}

async function copy(config: Config, to: string, output: Output): Promise<void> {
  // Empty, such as from an unset shell variable, would mean the current folder.
  if (to.trim() === '' || (!isPostgres(to) && /^[a-z][a-z0-9+.-]*:/i.test(to))) {
    throw new OperatorError('--to takes an address that begins with postgres://, or a folder; nothing was changed.')
  }
  const place = isPostgres(to) ? to : resolve(to)
  const { source, target, close } = await openCopy(config, place, (text) => output.stderr(text))
  try {
    const report = await showPhases(output, (onPhase) => copyStore(source, target, onPhase))
    const title = `Copied ${report.rows} rows, and found all of them there. The master key stays the same.`
    output.result(report, { title, rows: report.tables.map((sum) => ({ ...sum })) })
  } finally {
    await close()
  }
}
