// What both peers share: a file of the same engine with the same durability, seeded once, with the scripts of what is asked
// of it; and the line that says ready.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { changes } from '../script.ts'

const VERIFIED = 9_500
const CHANGED = 500
const FIRST_PAGES = 10

const [folder, ...sizes] = process.argv.slice(2)
export const [accounts, subAccounts, tokens] = sizes.map(Number)
export const sha256 = (text, encoding = 'hex') => createHash('sha256').update(text).digest(encoding)

export function openStore(name) {
  const file = new DatabaseSync(`${folder}/${name}.db`)
  file.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  return file
}

/**
 * Unless it was done before: makes the tables, the accounts and their tokens. `makeAccount(number)` returns `list(page)`, the
 * request for a page, and `insertToken(number)`, which returns the token's requests: `verify`, and the pairs `names` and
 * `states`, of which the second undoes the first.
 */
export async function seedOnce(name, file, makeTables, makeAccount) {
  if (file.prepare('PRAGMA user_version').get().user_version !== 0) return
  await makeTables()
  const [lists, changed, verified] = [[], [], []]
  for (let a = 0; a < accounts; a++) {
    const { list, insertToken } = await makeAccount(a)
    file.exec('BEGIN')
    const items = Array.from({ length: tokens }, (_, n) => insertToken(n)).slice(0, CHANGED + VERIFIED)
    file.exec('COMMIT')
    // By Zipf's law: the nth page stands in its group as often as 1/n of the first.
    const pages = Array.from({ length: FIRST_PAGES }, (_, page) =>
      new Array(Math.round(2520 / (page + 1))).fill(list(page)),
    )
    lists.push(pages.flat())
    changed.push(items.slice(0, CHANGED))
    verified.push(items.slice(CHANGED).flatMap(({ verify }) => verify ?? []))
  }
  const scripts = {
    list: [{ share: 1, status: 200, groups: lists }],
    put: [changes(changed)],
    ...(verified[0]?.length > 0 && { verify: [{ share: 1, status: 204, groups: verified }] }),
  }
  writeFileSync(`${folder}/${name}.json`, JSON.stringify(scripts))
  file.exec('PRAGMA user_version = 1; ANALYZE')
}

export function listen(server) {
  const listening = server.listen(0, '127.0.0.1', () => {
    console.log(`ready at http://127.0.0.1:${listening.address().port}`)
  })
  process.once('SIGTERM', () => process.exit(0))
}
