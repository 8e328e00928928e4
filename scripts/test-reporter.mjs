// Says little while tests pass and everything when one fails; closes with the coverage and one line of counts.
import { relative } from 'node:path'

export default async function* report(events) {
  let passed = 0
  let failed = 0
  let coverage = ''
  for await (const { type, data } of events) {
    const isTest = data?.details?.type !== 'suite'
    if (type === 'test:pass' && isTest && data.skip === undefined && data.todo === undefined) passed++
    if (type === 'test:fail' && isTest) {
      failed++
      const error = data.details.error
      yield `\n✖ ${data.name}\n  ${relative('', data.file ?? '')}:${data.line}\n${indent(String(error?.cause?.stack ?? error?.stack ?? error))}\n`
    }
    if (type === 'test:pass' && data.nesting === 0)
      yield `✔ ${data.name} (${Math.round(data.details.duration_ms)} ms)\n`
    if (type === 'test:stderr') yield data.message
    if (type === 'test:diagnostic' && data.level === 'error') yield `${data.message}\n`
    if (type === 'test:coverage') coverage = describeCoverage(data.summary)
  }
  yield `\n${coverage}${passed} passed, ${failed} failed\n`
}

function describeCoverage({ files, totals }) {
  const weak = files.filter(({ coveredLinePercent }) => coveredLinePercent < 95)
  const lines = weak.map(({ path, coveredLinePercent }) => `  ${relative('', path)} ${coveredLinePercent.toFixed(1)}%`)
  const below = lines.length === 0 ? '' : `Files below 95%:\n${lines.join('\n')}\n`
  return `${below}Coverage of src/: ${totals.coveredLinePercent.toFixed(1)}% of lines\n`
}

function indent(text) {
  return text.replace(/^/gm, '    ')
}
