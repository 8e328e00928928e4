// Programs that others wrote: found, run, and reported on. One that is not there is a failure that says how to get it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

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

interface Row {
  readonly tool: string
  readonly date: string
  readonly result: string
}

const rows = new Map<string, Row>()

/** What the report says about a test. */
export function report(test: { readonly fullName: string }, tool: string, result: string): void {
  const text = result.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 300)
  rows.set(test.fullName, { tool, date: new Date().toISOString().slice(0, 10), result: text })
}

/** The rows of tests that were not run this time are kept as they are. */
export function writeReport(file: string): void {
  const known = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const all = new Map<string, Row>()
  for (const [, test = '', tool = '', date = '', result = ''] of known.matchAll(ROW))
    all.set(test, { tool, date, result })
  for (const [test, row] of rows) all.set(test, row)
  const lines = [
    '# Tools that others wrote, run against Latchkey',
    '',
    'Written by `npm run test:tools`, which starts servers of its own on both engines; `npm run test:tools -- prism` runs a',
    'part of it. What they found has been fixed. sqlmap was told which engine it',
    'attacks, and tried all of its techniques except inline queries, starting from one valid value of each parameter.',
    '',
    '| test | tool | date | result |',
    '|---|---|---|---|',
    ...[...all].map(([test, { tool, date, result }]) => `| ${test} | ${tool} | ${date} | ${result} |`),
    '',
  ]
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, lines.join('\n'))
}

const ROW = /^\| ([^|]+) \| ([^|]*) \| (\d{4}-\d\d-\d\d) \| (.*) \|$/gm
