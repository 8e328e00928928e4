// Does what a page of the documents says, in one shell: runs its `sh` blocks in order, saves its `js` blocks under the name in their first
// line, and compares its `text` blocks, in which … stands for anything, with what the block of commands before them has printed.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'

const BLOCK = /^```(sh|js|text)\n(.*?)^```$/gms
const END_OF_FILE = 'END-OF-BLOCK'

/** `replace`: pairs of a text and what takes its place, such as a port. `skip`: blocks of commands that were run before. */
export async function followPage(file, { cwd, env, replace = [], skip = [] }) {
  const page = replace.reduce((text, [from, to]) => text.replaceAll(from, to), readFileSync(file, 'utf8'))
  const blocks = [...page.matchAll(BLOCK)].map(([, kind, text]) => ({ kind, text }))
  const steps = blocks.filter(({ kind, text }) => kind !== 'text' && !skip.includes(text.trim()))
  const heading = (i) => `--- step ${i} ---`
  const script = steps.map((step, i) => `echo '${heading(i)}'\n${commandsOf(step)}`).join('\n')
  const printed = await runShell(script, { cwd, env })
  const outputOf = (step) => printed.split(`${heading(steps.indexOf(step))}\n`)[1]?.split('--- step ')[0] ?? ''

  let commands
  let compared = 0
  for (const block of blocks) {
    if (block.kind === 'sh') commands = block
    if (block.kind !== 'text') continue
    requireMatch(outputOf(commands), block.text)
    compared += 1
  }
  return { steps: steps.length, compared }
}

function commandsOf({ kind, text }) {
  if (kind === 'sh') return text
  const name = /^\/\/ (\S+)$/m.exec(text)?.[1]
  if (name === undefined) throw new Error(`a block of code does not name its file:\n${text}`)
  return `cat > ${name} <<'${END_OF_FILE}'\n${text}${END_OF_FILE}\n`
}

function requireMatch(printed, expected) {
  const parts = expected.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  if (new RegExp(`^${parts.join('.*')}$`).test(printed)) return
  throw new Error(`the page says:\n${expected}\nbut the commands printed:\n${printed}`)
}

async function runShell(script, { cwd, env }) {
  // A group of its own, so that what a failed step has left running ends too.
  const shell = spawn('sh', ['-e', '-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  let printed = ''
  shell.stdout.on('data', (chunk) => {
    printed += chunk
  })
  const closed = new Promise((resolve) => shell.once('close', resolve))
  const code = await new Promise((resolve) => shell.once('exit', resolve))
  try {
    process.kill(-shell.pid, 'SIGTERM')
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
  await closed
  if (code !== 0) throw new Error(`a step ended with ${code}:\n${printed}`)
  return printed
}
