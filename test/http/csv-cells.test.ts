// The cells of a CSV file: nothing in them is a formula to a spreadsheet, and all of it can be read back.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvHeader, csvLines } from '../../src/operations/csv.ts'
import { parseCsv } from './csv.ts'

const COLUMNS = ['name', 'metadata', 'subAccount.name', 'subAccount.companyName']

/** The file of documents with these names, and its columns read back. */
function written(names: readonly string[], metadata: object | null = null) {
  const subAccount = { name: 'Sub, "one"', companyName: '=One' }
  const documents = names.map((name) => ({ name, metadata, subAccount }))
  const text = csvHeader(COLUMNS) + csvLines(COLUMNS, documents)
  const [header, ...rows] = parseCsv(text)
  assert.deepEqual(header, COLUMNS)
  return { text, columnOf: (name: string) => rows.map((row) => row[COLUMNS.indexOf(name)] ?? '') }
}

test('what a spreadsheet takes for a formula is text, and can be read back', () => {
  const names = ['=1+1', '+1', '-1', '@x', "'=x", 'a,b', 'a"b', 'plain', '＝1', 'käse 東京']
  const { columnOf } = written(names)
  const found = columnOf('name')
  for (const cell of found) assert.doesNotMatch(cell, /^[=+\-@＝]/)
  assert.deepEqual(
    found.map((cell) => cell.replace(/^'/, '')),
    names,
  )
  assert.deepEqual(new Set(columnOf('subAccount.companyName')), new Set(["'=One"]))
  assert.deepEqual(new Set(columnOf('subAccount.name')), new Set(['Sub, "one"']))
})

test('nothing is a formula where lines are divided at semicolons or tabs, and all of it can be read back', () => {
  const names = ['a;=1+1', 'a; =1;;-1', 'a;"=1+1&', ';', "a;'=1", 'a,b;@x', 'a;b', ';＝1', '=1;=2']
  const metadata = { padding: 'x;=1+1;"=1' }
  const { text, columnOf } = written(names, metadata)
  for (const line of text.split('\r\n')) {
    for (const field of line.split(/[;\t]/)) assert.doesNotMatch(field, /^[\s"]*[=+\-@＝]/)
  }
  const readBack = (cell: string) => cell.replace(/(^|[;\t\r\n])'/g, '$1')
  assert.deepEqual(columnOf('name').map(readBack), names)
  for (const cell of columnOf('metadata')) assert.deepEqual(JSON.parse(cell), metadata)
})
