// One line of reports/fault-tests.md for each fault that a long run has put us through.
import { appendFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { SEED } from '../support/seed.ts'

export interface Finding {
  readonly promise: string
  readonly fault: string
  readonly how: string
  readonly count: string
  readonly figure: string
  readonly control: string
}

/** A finding with the circumstances of its run, as reports/fault-tests.json keeps it. */
export interface Kept extends Finding {
  readonly date: string
  readonly seed: number
  readonly machine: string
  /** How many processes wanted to run when it began, those of others: times are only as good as the machine was free. */
  readonly load: number
}

/** Kept only where the runner of the long forms asks for it; told in either case. */
export function record(t: TestContext, finding: Finding): void {
  t.diagnostic(`${finding.fault}: ${finding.count}; ${finding.figure}; control: ${finding.control}; seed ${SEED}`)
  const file = process.env.FAULTS_REPORT
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(finding)}\n`)
}
