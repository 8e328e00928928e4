// `npm run package` keeps what is in the folder of packages and is not its own, and names the addresses that the release gives.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
const [{ putInto }, { addressesIn }, service, client] = await Promise.all(
  ['folder', 'addresses', 'npm-package', 'client-package'].map(
    (name) => import(join(root, 'packaging', `${name}.mjs`)),
  ),
)

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

test('the npm packages name the addresses that the release gives, and no others', () => {
  const RELEASE_REPOSITORY = 'https://forge.example/us/latchkey'
  const given = { RELEASE_REPOSITORY, RELEASE_BUGS: 'https://forge.example/bugs', RELEASE_HOMEPAGE: '' }
  for (const { manifestOf } of [service, client]) {
    const addressesOf = (env: object) => {
      const { homepage, bugs, repository } = manifestOf(root, addressesIn(env))
      return { homepage, bugs, repository }
    }
    assert.deepEqual(addressesOf({}), { homepage: undefined, bugs: undefined, repository: undefined })
    assert.deepEqual(addressesOf(given), {
      homepage: undefined,
      bugs: { url: 'https://forge.example/bugs' },
      repository: { type: 'git', url: `git+${RELEASE_REPOSITORY}` },
    })
    assert.equal(addressesOf({ RELEASE_HOMEPAGE: 'https://x.example' }).homepage, 'https://x.example')
  }
})

test('an address with a credential, or one that is none, is refused, and not repeated', () => {
  const refused = { message: 'RELEASE_REPOSITORY must be an https address without a user or password' }
  for (const RELEASE_REPOSITORY of ['https://ci:secret@forge.example/us', 'us/latchkey', 'http://forge.example/us']) {
    assert.throws(() => addressesIn({ RELEASE_REPOSITORY }), refused)
  }
})
