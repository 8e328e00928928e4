// `npm run package` keeps what is in the folder of packages and is not its own.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const { putInto } = await import(join(import.meta.dirname, '..', 'packaging', 'folder.mjs'))

test('packages are put beside what is there: some of them beside those of before, all of them in their place', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-packaging-'))
  t.after(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'notes.txt'), 'of somebody else')
  mkdirSync(join(folder, 'work'))
  const run = async (isWhole: boolean, made: Readonly<Record<string, string>>) => {
    const from = join(folder, '.work')
    mkdirSync(from)
    for (const [name, text] of Object.entries(made)) writeFileSync(join(from, name), text)
    await putInto(folder, from, isWhole)
    rmSync(from, { recursive: true })
  }
  const assertThere = (packages: Readonly<Record<string, string>>) => {
    const lines = Object.entries(packages).map(
      ([name, text]) => `${createHash('sha256').update(text).digest('hex')}  ${name}\n`,
    )
    assert.equal(readFileSync(join(folder, 'SHA256SUMS'), 'utf8'), lines.join(''))
    assert.deepEqual(readdirSync(folder).sort(), ['SHA256SUMS', 'notes.txt', 'work', ...Object.keys(packages)].sort())
    for (const [name, text] of Object.entries(packages)) assert.equal(readFileSync(join(folder, name), 'utf8'), text)
  }
  await run(true, { 'a-1.deb': 'a1', 'b-1.tgz': 'b1' })
  assertThere({ 'a-1.deb': 'a1', 'b-1.tgz': 'b1' })
  await run(false, { 'b-1.tgz': 'again', 'c-1.tar': 'c1' })
  assertThere({ 'a-1.deb': 'a1', 'b-1.tgz': 'again', 'c-1.tar': 'c1' })
  await run(true, { 'a-2.deb': 'a2' })
  assertThere({ 'a-2.deb': 'a2' })
})
