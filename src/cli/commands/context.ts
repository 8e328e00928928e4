// Contexts: the servers that a person works with. Keys are stored, and never printed.
import { type Command, InvalidArgumentError } from 'commander'
import { readProcessConfig } from '../../config.ts'
import { maskOf } from '../../tokens/trust/credential.ts'
import { kindOfCredential } from '../../tokens/verify/credential-format.ts'
import { addPaging, JSON_OPTION, mayRunAnywhere, pageOf, show, showPage } from '../command.ts'
import { type Context, Contexts, LOCAL } from '../contexts.ts'
import { UsageError } from '../terminal/exit-codes.ts'
import { Output, type Streams } from '../terminal/output.ts'
import { readSecretInput, readServer, warnOfPlainHttp } from '../terminal/values.ts'

const HELP = `
A context is a server, and an account key for it. Commands about tokens, sub-accounts, account keys and the history ask the
server of \`--context NAME\`, else of LATCHKEY_SERVER and LATCHKEY_KEY, else of the context in use, and else they work on the
local store. \`--context ${LOCAL}\` and \`latchkey context use ${LOCAL}\` choose the local store. The first context that is added is in use.

  latchkey context add production --server https://tokens.example.com --key-stdin < key.txt
  latchkey token list
  latchkey context use ${LOCAL}`

type Run<Options> = (contexts: Contexts, options: Options, output: Output, name: string) => void | Promise<void>

/** `name` is the command's argument, if it has one. */
const defineWith =
  (streams: Streams) =>
  <Options extends object>(command: Command, run: Run<Options>): void => {
    mayRunAnywhere(command.option(...JSON_OPTION)).action(async () => {
      const output = new Output(streams, command.opts<{ json?: boolean }>().json === true)
      await run(new Contexts(readProcessConfig()), command.opts(), output, command.args[0] ?? '')
    })
  }

export function addContextCommands(program: Command, streams: Streams): void {
  const context = program
    .command('context')
    .description('servers that commands ask instead of the local store')
    .addHelpText('after', HELP)
  const define = defineWith(streams)
  define<{ server: string }>(
    context
      .command('add')
      .description('add a server, or replace what is stored for it')
      .argument('<name>', 'what you call it', readContextName)
      .requiredOption('--server <url>', 'its address, such as https://tokens.example.com', readServer)
      .requiredOption('--key-stdin', 'read the account key from standard input'),
    async (contexts, { server }, output, name) => {
      const key = readKey(await readSecretInput(streams, 'account key'))
      warnOfPlainHttp(output, server)
      contexts.add({ name, server, key })
      show(output, describe({ name, server, key }, contexts.read().inUse))
    },
  )
  define(
    context.command('use').description('let commands ask this server').argument('<name>', `or ${LOCAL}`),
    (contexts, _options, output, name) => {
      contexts.use(name)
      const title = name === LOCAL ? 'Commands work on the local store.' : `Commands ask ${contexts.find(name).server}.`
      output.result({ inUse: name === LOCAL ? null : name }, { title })
    },
  )
  define<object>(
    addPaging(context.command('list').description('all contexts, and the end of the key of each')),
    (contexts, options, output) => {
      const { inUse, contexts: all } = contexts.read()
      showPage(
        output,
        pageOf(
          all.map((each) => describe(each, inUse)),
          { ...options },
        ),
        'context',
      )
    },
  )
  define(
    context.command('remove').description('forget a server and its key').argument('<name>', 'the context'),
    (contexts, _options, output, name) => {
      contexts.remove(name)
      output.result({ name, removed: true }, { title: `Removed ${name}.` })
    },
  )
}

function describe({ name, server, key }: Context, inUse: string | null) {
  return { name, server, inUse: name === inUse, key: maskOf(key) }
}

function readContextName(text: string): string {
  if (text === LOCAL) throw new InvalidArgumentError('It is what the local store is called.')
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text)) return text
  throw new InvalidArgumentError('It is 1 to 64 letters, digits, dots, hyphens and underscores.')
}

function readKey(text: string): string {
  const isWhole = /^[\x21-\x7e]+$/.test(text) && (kindOfCredential(text) === 'key' || !text.startsWith('lk_'))
  if (isWhole) return text
  throw new UsageError('There is no account key on standard input, or not the whole of one.')
}
