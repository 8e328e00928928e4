// Programs that others wrote: found, run, and reported on. One that is not there is a failure that says how to get it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const OWN = join(import.meta.dirname, 'node_modules', '.bin')
export const ROOT = join(import.meta.dirname, '..', '..')

export interface Ran {
  readonly code: number
  /** One character a byte. */
  readonly output: string
}

function find(program: string, install: string): string {
  const folders = [OWN, ...(process.env.PATH ?? '').split(delimiter)]
  const found = folders.map((folder) => join(folder, program)).find(existsSync)
  if (found === undefined) throw new Error(`${program} is not on this machine. To get it: ${install}`)
  return found
}

/** Runs it to its end, at a low priority. Only a program that does not start is an error here. */
export async function run(
  program: string,
  args: readonly string[],
  install = `apt-get install ${program}`,
): Promise<Ran> {
  const child = spawn('nice', ['-n', '10', find(program, install), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, NO_COLOR: '1', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  })
  let output = ''
  const keep = (text: Buffer) => {
    output += text.toString('latin1')
  }
  child.stdout.on('data', keep)
  child.stderr.on('data', keep)
  const [code] = await once(child, 'close')
  return { code: code ?? 1, output }
}

/** Runs beside the work, and is ended with it. */
export async function beside<Result>(
  program: string,
  args: readonly string[],
  readyWhen: RegExp,
  work: () => Promise<Result>,
): Promise<Result> {
  const child = spawn(find(program, 'npm run test:tools installs it'), args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const look = (text: Buffer) => {
      output += text
      if (readyWhen.test(output)) resolve()
    }
    child.stdout.on('data', look)
    child.stderr.on('data', look)
    child.once('exit', () => reject(new Error(`${program} ended: ${output.slice(-2_000)}`)))
  })
  try {
    return await work()
  } finally {
    child.kill('SIGTERM')
  }
}

interface Finding {
  readonly tool: string
  readonly what: string
  readonly result: string
}

const findings: Finding[] = []

export function report(tool: string, what: string, result: string): void {
  findings.push({ tool, what, result })
}

export function writeReport(file: string, failed: readonly string[]): void {
  const date = new Date().toISOString().slice(0, 10)
  const rows = findings.map(({ tool, what, result }) => `| ${tool} | ${what} | ${result} |`)
  const lines = [
    '# Tools that others wrote, run against Latchkey',
    '',
    `Written by \`npm run test:tools\` on ${date}, against servers started for it on both engines. What each of them found`,
    'and was mended, and which of their rules do not apply here and why, stands in [SECURITY.md](../SECURITY.md#tools).',
    '',
    '| tool | what was run | result |',
    '|---|---|---|',
    ...rows,
    ...(failed.length === 0 ? [] : ['', 'Failed:', '', ...failed.map((each) => `- ${each}`)]),
    '',
  ]
  writeFileSync(file, lines.join('\n'))
}
