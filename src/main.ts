// Picks a command. The only file that ends the process.
import { run } from './cli/program.ts'

let unheard = false
// Whoever was reading has gone, or the disk is full. Nobody listening for it, it would end the process in the middle.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  unheard = true
  if (code !== 'EPIPE') process.stderr.write(`Standard output cannot be written: ${message}\n`)
})
const code = await run(process.argv.slice(2), {
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
})
process.exitCode = unheard ? 1 : code
