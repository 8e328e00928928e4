// Says little while tests pass and everything when one fails; closes with where the time went, the coverage and one line
// of counts.
import { readFileSync } from 'node:fs'
import { dirname, relative } from 'node:path'

const LISTED = 20
const QUICK_MS = 100

export default async function* report(events) {
  let passed = 0
  let failed = 0
  let coverage = ''
  const tests = []
  const failures = []
  const files = new Map()
  for await (const { type, data } of events) {
    const isTest = data?.details?.type !== 'suite'
    if (type === 'test:pass' && isTest && data.skip === undefined && data.todo === undefined) passed++
    // A suite fails by its tests, which are counted, or by a hook.
    if (type === 'test:fail' && (isTest || data.details.error?.failureType === 'hookFailed')) {
      failed++
      const error = data.details.error
      const at = `${relative('', data.file ?? '')}:${data.line}`
      failures.push(`  ${at}: ${data.name}\n`)
      yield `\n✖ ${data.name}\n  ${at}\n  alone: ${aloneOf(data)}\n${indent(String(error?.cause?.stack ?? error?.stack ?? error))}\n`
    }
    if (type === 'test:pass' || type === 'test:fail') {
      // The test file, also of a test that stands in another file.
      const file = relative('', data.entryFile ?? data.file ?? '')
      const ms = data.details.duration_ms
      if (isTest) tests.push({ ms, text: `${file}: ${data.name}` })
      // What is at the top contains the rest, hooks included.
      if (data.nesting === 0) files.set(file, (files.get(file) ?? 0) + ms)
    }
    if (type === 'test:pass' && data.nesting === 0)
      yield `✔ ${data.name} (${Math.round(data.details.duration_ms)} ms)\n`
    if (type === 'test:stderr') yield data.message
    if (type === 'test:diagnostic' && data.level === 'error') yield `${data.message}\n`
    if (type === 'test:coverage') coverage = describeCoverage(data.summary)
  }
  yield slowest(
    'files',
    Array.from(files, ([text, ms]) => ({ ms, text })),
  )
  yield slowest('tests', tests)
  yield byFolder(files)
  yield `\n${processorTime()}`
  yield coverage
  if (failed > 0) yield `Failed:\n${failures.join('')}`
  yield `${passed} passed, ${failed} failed\n`
}

function slowest(what, all) {
  const listed = all
    .filter(({ ms }) => ms > QUICK_MS)
    .sort((a, b) => b.ms - a.ms)
    .slice(0, LISTED)
  if (listed.length === 0) return ''
  const lines = listed.map(({ ms, text }) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${text}\n`)
  return `\nThe slowest ${what}:\n${lines.join('')}`
}

/** Waiting included, and of all files that ran at a time. */
function byFolder(files) {
  const folders = new Map()
  for (const [file, ms] of files) folders.set(dirname(file), (folders.get(dirname(file)) ?? 0) + ms)
  const sorted = [...folders].sort(([, one], [, other]) => other - one)
  return `\nBy folder:\n${sorted.map(([folder, ms]) => `${(ms / 1_000).toFixed(1).padStart(7)} s  ${folder}\n`).join('')}`
}

/** Of this process and of all that it has started and waited for: what a busy machine does not change. Linux only. */
function processorTime() {
  let fields
  try {
    fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' ')
  } catch {
    return ''
  }
  const TICKS_A_SECOND = 100
  // utime, stime, cutime and cstime: the 14th to 17th field, the first two of which stand before the split.
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0)
  return `Processor time of all tests: ${Math.round(ticks / TICKS_A_SECOND)} s\n`
}

function describeCoverage({ files, totals }) {
  const weak = files.filter(({ coveredLinePercent }) => coveredLinePercent < 95)
  const lines = weak.map(({ path, coveredLinePercent }) => `  ${relative('', path)} ${coveredLinePercent.toFixed(1)}%`)
  const below = lines.length === 0 ? '' : `Files below 95%:\n${lines.join('\n')}\n`
  return `${below}Coverage of src/: ${totals.coveredLinePercent.toFixed(1)}% of lines\n`
}

/** The command that runs a test alone, with the same random choices. */
function aloneOf({ name, file = '', entryFile = file }) {
  const seed = process.env.SEED === undefined ? '' : `SEED=${process.env.SEED} `
  // Dots for what the shell or a regular expression would read as something else.
  const pattern =
    entryFile === file && name === file ? '' : ` --test-name-pattern='${name.replace(/[^\p{L}\d ,-]/gu, '.')}$'`
  return `${seed}npm test -- ${relative('', entryFile)}${pattern}`
}

function indent(text) {
  return text.replace(/^/gm, '    ')
}
