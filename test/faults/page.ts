// docs/reliability.md: what a run has found, between what is promised and what is not.
import type { Kept } from './report.ts'

export function reliabilityPage(findings: readonly Kept[]): string {
  const promises = [...new Set(findings.map(({ promise }) => promise))]
  const machines = [...new Set(findings.map(({ machine }) => machine))]
  return `# Reliability

Written by \`npm run test:faults\` on ${machines.join('; ')}. A control is the same test on a service that breaks the
promise: it must fail, and did. The load is how many processes of others wanted to run when a test began: counts do not
depend on it, times do.

${promises.map((promise) => section(promise, findings)).join('\n')}
## What "0 of N" means

That none of N went wrong, not that none ever will: with 95% confidence fewer than 3 in N do. What is counted as lost is
a change that was answered with yes and is not stored. A change whose answer never came, or was "may or may not have been
saved", may be there or not, but never half.

## What is not promised

- **A disk that lies.** A sync that reports success and has not written is beyond any program.
- **The embedded store on a network file system**: SQLite's locks need a local one.
- **Time across restarts.** While a process runs its time never goes back. When it starts it believes the machine: a clock
  that is wrong by an hour then judges expiry wrong by an hour. A clock that was ahead and is set right leaves the running
  process ahead until it is restarted: what expires does so too early, never too late. Each instance has its own clock.
- **PostgreSQL's own durability**: it is the server's, with \`fsync\` and \`synchronous_commit\` on and, against the loss of a
  machine, a synchronous standby ([postgres.md](postgres.md)).
- **Marks of last use** of the last 5 seconds are lost with the process.

## Again

\`npm test\` runs a short form of each of these on any machine with Node.js and npm. The long forms need Linux, root, and
programs that npm does not bring; \`npm run test:faults\` names those that are missing. \`SEED=n\` takes the same chances
again, though not at the same moments; \`npm run test:faults -- test/faults/failover.ts\` runs one file alone. Beside the
faults it runs the HTTP scenarios through pgbouncer and with the least privileges of [postgres.md](postgres.md), and looks
at the plans of every statement on a million tokens.
`
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
