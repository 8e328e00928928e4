// Rotates the master key while servers use the store.
import type { Command } from 'commander'
import { Failure, OperatorError } from '../../tokens/model/errors.ts'
import type { RotationReport } from '../../tokens/upkeep/master-key-rotation.ts'
import type { OnStore } from '../command.ts'
import type { Output } from '../terminal/output.ts'
import { showPhases } from '../terminal/progress.ts'

export function addMasterKeyCommands(program: Command, onStore: OnStore): void {
  onStore(
    program
      .command('master-key')
      .description('the key that credentials are sealed with')
      .command('rotate')
      .description('seal everything with another master key, while serving; run again if interrupted'),
    async ({ rotateMasterKey }, _options, output) => {
      try {
        printReport(await showPhases(output, rotateMasterKey), output)
      } catch (error) {
        if (!(error instanceof Failure)) throw error
        throw new OperatorError(`${error.message}. Nothing is lost: run the same command again to continue.`)
      }
    },
  )
}

function printReport(report: RotationReport, output: Output): void {
  const { masterKey, retired, keptIn, tokens, resealed } = report
  output.result(report, {
    title: `Everything is sealed with master key ${masterKey}: ${tokens} tokens, ${resealed} of them by this run.`,
  })
  if (retired.length === 0) return
  const names = retired.join(', ')
  output.line(
    keptIn.length === 0
      ? `Nothing here needs master key ${names} any more: remove it from the settings of all instances.`
      : `Nothing here needs master key ${names} any more. It is kept in ${keptIn.join(', ')}.`,
  )
  output.line('An earlier backup opens only with its own key: keep that key as long as the backup, and apart from it.')
}
