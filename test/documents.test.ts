// Links between the pages of this repository lead somewhere, and what lies beside the pages is used by one.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { COMMANDS_PAGE, printCommands } from '../scripts/generate-commands.ts'
import { ERRORS_PAGE, printErrors } from '../scripts/generate-errors.ts'
import { SETTINGS } from '../src/config.ts'
import { operations } from '../src/operations/all.ts'

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

const GENERATED = ['docs/reference/errors.md', 'docs/reference/command-line.md', 'CHANGELOG.md']
const written = pages.map((page) => page.replaceAll('\\', '/')).filter((page) => !GENERATED.includes(page))
const wordsIn = (page: string) => readFileSync(join(root, page), 'utf8').trim().split(/\s+/).length

const BUDGETS: Readonly<Record<string, number>> = {
  'README.md': 600,
  'ARCHITECTURE.md': 1_500,
  'CONTRIBUTING.md': 900,
  'SECURITY.md': 1_200,
  'docs/operate/scaling.md': 700,
}
const DECISION_WORDS = 150
const ALL_WORDS = 25_000

test('pages stay within their budget of words', () => {
  const over = Object.entries(BUDGETS).filter(([page, words]) => wordsIn(page) > words)
  assert.deepEqual(
    over.map(([page]) => `${page}: ${wordsIn(page)}`),
    [],
  )
  const decisions = written.filter((page) => page.startsWith('docs/decisions/'))
  assert.deepEqual(
    decisions.filter((page) => wordsIn(page) > DECISION_WORDS || /^\|/m.test(textOf(page))),
    [],
  )
  const all = written.reduce((sum, page) => sum + wordsIn(page), 0)
  assert.ok(all <= ALL_WORDS, `${all} words`)
})

const SENTENCE_WORDS = 40

/** Without code, tables and headings; an item of a list is a paragraph. */
function sentencesOf(page: string): string[] {
  const prose = textOf(page)
    .replaceAll(/^(\||#|!\[).*$/gm, '')
    .replaceAll(/^\s*([-*]|\d+\.) /gm, '\n\n')
    .replaceAll(/`[^`]*`/g, 'code')
  return prose.split(/\n\s*\n|(?<=[.!?:;])\s+/).filter((sentence) => sentence.trim() !== '')
}

test(`no sentence has more than ${SENTENCE_WORDS} words`, () => {
  const long = written.flatMap((page) =>
    sentencesOf(page)
      .filter((sentence) => sentence.trim().split(/\s+/).length > SENTENCE_WORDS)
      .map((sentence) => `${page}: ${sentence.trim()}`),
  )
  assert.deepEqual(long, [])
})

const everything = written.map((page) => readFileSync(join(root, page), 'utf8')).join('\n')

test('every setting that a page names exists, and every setting is named by a page', () => {
  const named = new Set([...everything.matchAll(/\bLATCHKEY_[A-Z0-9_]*[A-Z0-9]\b(?!_|\*)/g)].map(([name]) => name))
  assert.deepEqual(
    [...named].filter((name) => !SETTINGS.some((each) => each === name)),
    [],
  )
  assert.deepEqual(
    SETTINGS.filter((name) => !everything.includes(name)),
    [],
  )
})

test('every command that a page names exists', () => {
  const page = printCommands()
  const commands = new Set([...page.matchAll(/^#+ `latchkey ([a-z-]+)/gm)].map(([, name]) => name))
  assert.ok(commands.size > 15)
  const named = new Set([...everything.matchAll(/(?:^|`)latchkey ([a-z][a-z-]+)/gm)].map(([, name = '']) => name))
  assert.deepEqual(
    [...named].filter((name) => !commands.has(name)),
    [],
  )
})

const plainRoutes = globSync('src/http/plain/*.ts', { cwd: root }).flatMap((file) => {
  const text = readFileSync(join(root, file), 'utf8')
  const [, base = ''] = /^const BASE = '(.+)'/m.exec(text) ?? []
  return [...text.replaceAll(/\$\{BASE\}/g, base).matchAll(/['`]\/api\/v1\/([\w/:-]+)/g)].map(([, path = '']) => path)
})
const routes = [...plainRoutes, ...operations.map(({ url }) => url.replace('/api/v1/', ''))].map((path) =>
  path.split('/'),
)

/** Or the beginning of one. Parameters match anything. */
function isRoute(path: string): boolean {
  const parts = path.replace(/\/?…?$/, '').split('/')
  return routes.some((route) => parts.every((part, n) => part === route[n] || route[n]?.startsWith(':')))
}

test('every route that a page names exists', () => {
  const named = [...everything.matchAll(/\/api\/v1\/([\w/:…-]+)/g)].map(([, path = '']) => path)
  assert.ok(named.length > 20)
  assert.deepEqual(
    named.filter((path) => !isRoute(path)),
    [],
  )
})
