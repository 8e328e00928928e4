// Writes docs/reference/command-line.md from the commands as they are declared.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Argument, Command, Option } from 'commander'
import { buildProgram } from '../src/cli/program.ts'
import { EXIT } from '../src/cli/terminal/exit-codes.ts'

export const COMMANDS_PAGE = join(import.meta.dirname, '..', 'docs', 'reference', 'command-line.md')

const EXIT_CODES: Readonly<Record<keyof typeof EXIT, string>> = {
  done: 'done; `verify`: accepted',
  refused: 'refused, or not found; `verify`: refused',
  usage: 'wrong usage: an option, argument or choice of a server that the command does not take',
  unreachable: 'the server or the store cannot be reached',
  notAllowed: 'not authenticated, or not allowed',
  nothingFound: '`find`: all was read, and nothing was found',
}

const HEAD = `# The command line

In a clone the command is \`npx --no -- latchkey\`; without \`--no\`, npx would fetch whatever has that name. After the Debian package it
is \`sudo latchkey-admin\`. Elsewhere it is \`latchkey\`.

## The local store, or a server

Without a server, commands work on the local store. They then run as the user of the server, with its [settings](../operate/settings.md).

Commands about tokens, sub-accounts, keys, verifiers, webhooks and the history, and \`whoami\`, \`verify\`, \`explain\` and \`leak\`, also ask a
server, with the rights of an account key:

\`\`\`sh
latchkey context add production --server https://tokens.example.com --key-stdin < key.txt
latchkey token list                   # the first context that is added is in use
latchkey context use local            # the local store again
LATCHKEY_SERVER=https://tokens.example.com LATCHKEY_KEY=lk_key_… latchkey whoami
\`\`\`

\`--context NAME\` comes first, then \`LATCHKEY_SERVER\`, then the context in use. All other commands work on the local store only. Contexts are
kept in \`contexts.json\`, mode 0600, in the folder of \`LATCHKEY_CONFIG_DIR\`. No command prints a key.

## Credentials

\`token create\` and \`token rotate\` show the credential that they make. \`token get --show-credential\` shows one on request.
\`token create --credential-stdin\` takes an existing credential, on the local store only. Give secrets by standard input: other users of the
machine can read the arguments of a command.

## Scripts

Every command but \`serve\`, \`sidecar\` and \`completion\` takes \`--json\`. It then prints one JSON document if it succeeds, the same on the local store and through a server. It is the \`data\` of the
API. Problems go to standard error.

`

const FOOT = `
This page is written by \`npm run generate-commands\`.
`

export function printCommands(): string {
  const nothing = { write: () => true }
  const program = buildProgram({ stdout: nothing, stderr: nothing } as unknown as Parameters<typeof buildProgram>[0])
  const codes = Object.entries(EXIT).map(([name, code]) => `| ${code} | ${EXIT_CODES[name as keyof typeof EXIT]} |\n`)
  const sections = program.commands.map((command) => sectionOf(command, command.name()))
  return `${HEAD}| exit code | |\n|---|---|\n${codes.join('')}\n## Commands\n\n${sections.join('\n')}${FOOT}`
}

/** A command, and those below it. */
function sectionOf(command: Command, path: string): string {
  const below = command.commands.map((each) => `\n${sectionOf(each, `${path} ${each.name()}`)}`)
  const usage = ['latchkey', path, ...command.registeredArguments.map(argumentName)]
  const options = command.options.filter(({ hidden, long }) => !hidden && long !== '--json').map(optionLine)
  return `### \`${usage.join(' ')}\`\n\n${sentence(command.description())}\n${options.length > 0 ? '\n' : ''}${options.join('')}${below.join('')}`
}

const argumentName = (each: Argument) => (each.required ? `<${each.name()}>` : `[${each.name()}]`)

function optionLine({ flags, description, argChoices }: Option): string {
  const choices = argChoices === undefined ? '' : `: ${argChoices.map((choice) => `\`${choice}\``).join(', ')}`
  return `- \`${flags}\`: ${description}${choices}\n`
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

if (import.meta.main) writeFileSync(COMMANDS_PAGE, printCommands())
