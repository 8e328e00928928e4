// Picks a command. The only file that ends the process.
import { run } from './cli/program.ts'

process.exitCode = await run(process.argv.slice(2), { stdout: process.stdout, stderr: process.stderr })
