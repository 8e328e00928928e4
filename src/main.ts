// Picks a command. The only file that ends the process.
import { run } from './cli/program.ts'

let outputLost = false
// Without a listener, the error would end the process in the middle of its work.
process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader that has seen enough, such as `head`.
  if (code === 'EPIPE') return
  outputLost = true
  process.stderr.write(`Standard output cannot be written: ${message}\n`)
})
const code = await run(process.argv.slice(2), {
  get stdin() {
    return process.stdin
  },
  stdout: process.stdout,
  stderr: process.stderr,
})
process.exitCode = outputLost ? 1 : code
