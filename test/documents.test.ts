// Links between the pages of this repository lead somewhere, and what lies beside the pages is used by one.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { COMMANDS_PAGE, printCommands } from '../scripts/generate-commands.ts'
import { ERRORS_PAGE, printErrors } from '../scripts/generate-errors.ts'

const root = join(import.meta.dirname, '..')
const pages = globSync('**/*.md', { cwd: root, exclude: ['**/node_modules', '**/dist', 'reports'] })
const LINK = /\]\(([^)\s]+)\)/g
const FENCED = /^```[\s\S]*?^```/gm

const textOf = (page: string) => readFileSync(join(root, page), 'utf8').replaceAll(FENCED, '')

/** As GitHub makes the address of a heading. */
function anchorOf(heading: string): string {
  const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
  return plain.replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '').replaceAll(' ', '-')
}

const anchorsIn = (page: string) =>
  [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))

const links = pages.flatMap((page) =>
  [...textOf(page).matchAll(LINK)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#')
      return { page, target, file: path === '' ? page : normalize(join(dirname(page), path)), anchor }
    }),
)

test('every link from page to page leads to a file, and to a heading of it', () => {
  const broken = links.filter(({ file, anchor }) => {
    if (!existsSync(join(root, file))) return true
    return anchor !== undefined && file.endsWith('.md') && !anchorsIn(file).includes(anchor)
  })
  assert.deepEqual(
    broken.map(({ page, target }) => `${page}: ${target}`),
    [],
  )
  assert.ok(links.length > 100)
})

test('every picture and every configuration in docs/ is shown or linked by a page', () => {
  const linked = new Set(links.map(({ file }) => file))
  const files = globSync('docs/{console,gateways,patroni}/*', { cwd: root })
  assert.deepEqual(
    files.filter((file) => !linked.has(file)),
    [],
  )
})

test('docs/reference/errors.md is what the tables of failures say; if not, run `npm run generate-errors`', () => {
  assert.equal(readFileSync(ERRORS_PAGE, 'utf8'), printErrors())
})

test('docs/reference/command-line.md is what the commands declare; if not, run `npm run generate-commands`', () => {
  assert.equal(readFileSync(COMMANDS_PAGE, 'utf8'), printCommands())
})
