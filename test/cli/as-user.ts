// Runs one command as another user, given by number. All code is loaded first: that user may not be able to read it.
import { run } from '../../src/cli/program.ts'
import '../../src/cli/serve.ts'

const [uid = '', ...args] = process.argv.slice(2)
process.setgroups?.([])
process.setgid?.(Number(uid))
process.setuid?.(Number(uid))
process.exitCode = await run(args, { stdout: process.stdout, stderr: process.stderr })
