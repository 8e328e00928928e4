// reports/fault-tests.md: what a run has found. What is promised, and what is not, is docs/why/reliability.md.
import type { Kept } from './report.ts'

export function faultTestsPage(findings: readonly Kept[]): string {
  const promises = [...new Set(findings.map(({ promise }) => promise))]
  const machines = [...new Set(findings.map(({ machine }) => machine))]
  return `# Fault tests

The promises, what "0 of N" means, and what is not promised: [reliability.md](../docs/why/reliability.md).

Written by \`npm run test:faults\` on ${machines.join('; ')}. A control is the same test on a service that breaks the
promise: it must fail, and did. The load is how many processes of others wanted to run when a test began: counts do not
depend on it, times do.

${promises.map((promise) => section(promise, findings)).join('\n')}`
}

function section(promise: string, findings: readonly Kept[]): string {
  const rows = findings
    .filter((finding) => finding.promise === promise)
    .map(({ fault, how, count, figure, control, date, seed, load }) =>
      [fault, how, count, figure, control, `${date}, seed ${seed}, load ${load}`].map((text) =>
        text.replaceAll('|', '\\|'),
      ),
    )
  return `## ${promise}

| fault | how | tried | found | control | when |
|---|---|---|---|---|---|
${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`
}
