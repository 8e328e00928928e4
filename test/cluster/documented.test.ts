import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

test('docs/postgres.md shows the very files with which the cluster is tested', () => {
  const page = readFileSync(join(DOCS, 'postgres.md'), 'utf8')
  const files = readdirSync(join(DOCS, 'patroni'))
  assert.deepEqual(files.toSorted(), ['haproxy.cfg', 'patroni.yml'])
  for (const file of files) assert.ok(page.includes(readFileSync(join(DOCS, 'patroni', file), 'utf8')), file)
})
