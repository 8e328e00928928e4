// The store as a whole: migrate, import, seed, doctor.
import type { Command } from 'commander'
import { OperatorError } from '../../tokens/model/errors.ts'
import type { OnStore } from '../command.ts'
import { showPhases } from '../terminal/progress.ts'
import { readCount } from '../terminal/values.ts'
import { announceExamination, examine } from './doctor.ts'
import { importTokens } from './import.ts'
import { type Estate, seed } from './seed.ts'

export function addStoreCommands(program: Command, onStore: OnStore): void {
  onStore(
    program.command('migrate').description('migrate the store to this version'),
    async ({ applied }, _options, output) => {
      const title = applied.length === 0 ? 'The store is up to date.' : `Applied: ${applied.join(', ')}`
      output.result({ applied }, { title })
    },
    { settings: { autoMigrate: true }, mayCreateStore: true },
  )
  onStore<{ skipBad?: boolean }>(
    program
      .command('import')
      .description('import tokens from a file, one JSON object per line; see docs/guides/moving-in.md')
      .argument('<file>', 'a .ndjson file')
      .option('--skip-bad', 'skip bad lines instead of refusing the file'),
    async ({ operator }, { skipBad }, output, file) => {
      const counts = await importTokens(operator, file, skipBad === true, output)
      const { imported, unchanged, bad } = counts
      output.result(counts, { title: `${imported} imported, ${unchanged} already there, ${bad} bad.` })
    },
    { patient: true },
  )
  onStore<Estate>(
    program
      .command('seed')
      .description('create synthetic accounts, sub-accounts and tokens')
      .requiredOption('--accounts <n>', 'number of accounts', readCount)
      .requiredOption('--sub-accounts <n>', 'sub-accounts of each account', readCount)
      .requiredOption('--tokens <n>', 'tokens of each account', readCount),
    async ({ operator }, estate, output) => {
      if (estate.subAccounts === 0 && estate.tokens > 0) throw new OperatorError('tokens need sub-accounts')
      const made = await seed(operator, estate, output)
      output.result(made, { title: `Created ${made.subAccounts} sub-accounts and ${made.tokens} tokens.` })
    },
    { mayCreateStore: true, patient: true },
  )
  onStore(
    program.command('doctor').description('check the store for damage and tampering'),
    async (latchkey, _options, output) => {
      const announcement = await announceExamination(latchkey)
      if (announcement !== undefined) output.stderr(announcement)
      const report = await showPhases(output, (onPhase) => examine(latchkey, onPhase))
      output.result(report, { rows: report.checks })
      for (const { kind, id, problem } of report.problems) output.line(`${kind} ${id} ${problem}`)
      const unnamed = report.problemCount - report.problems.length
      if (unnamed > 0) output.line(`and ${unnamed} more`)
      if (!report.healthy) throw new OperatorError('the store is not healthy')
    },
  )
}
