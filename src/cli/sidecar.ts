// The command that verifies for the programs of one machine, with a lease of a server.
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Command, Option } from 'commander'
import type { LatchkeyError } from '../../client/latchkey-client.ts'
import { readProcessConfig } from '../config.ts'
import type { Listen } from '../serve/sidecar.ts'
import { ServerFailure, UsageError } from './terminal/exit-codes.ts'
import { Output, type Streams } from './terminal/output.ts'
import { readServer, warnOfPlainHttp } from './terminal/values.ts'

interface Options {
  readonly server: string
  readonly keyFile: string
  readonly listen: string
  readonly listenAdmin?: string
  readonly name: string
  readonly leaseSeconds: string
}

const HELP = `
Answers GET /api/v1/verify as the server does, from memory where it may; /healthz, /readyz and /metrics, at --listen-admin where
that is set. LATCHKEY_TRUST_PROXY and LATCHKEY_CREDENTIAL_HEADER hold as for the server. See docs/guides/verifier.md.`

const UNTIL_HELD = 'Each verification asks the server until another one is held; an evicted sidecar gets none.'

export function addSidecarCommand(program: Command, streams: Streams): void {
  program
    .command('sidecar')
    .description('verify credentials from memory, beside a gateway or an application, until SIGTERM')
    .requiredOption('--server <url>', 'the server whose tokens are verified', readServer)
    .requiredOption('--key-file <file>', 'a file with an account key of the role verifier')
    .option('--listen <where>', 'an address and port, or unix:PATH', '127.0.0.1:4180')
    .option('--listen-admin <where>', 'where to answer /healthz, /readyz and /metrics instead of there')
    .option('--name <name>', 'shown where the server lists its verifiers', `sidecar on ${hostname()}`)
    .addOption(new Option('--lease-seconds <n>', '2 to 60').default('10'))
    .addHelpText('after', HELP)
    .action((options: Options) => runSidecar(options, new Output(streams, false)))
}

async function runSidecar(options: Options, output: Output): Promise<void> {
  const { server, keyFile, listen, listenAdmin, name, leaseSeconds } = options
  const { trustProxy, credentialHeader } = readProcessConfig()
  const key = readFileSync(keyFile, 'utf8').trim()
  warnOfPlainHttp(output, server)
  // Loaded late, as all that answers HTTP.
  const { startSidecar } = await import('../serve/sidecar.ts')
  const running = await startSidecar({
    ...{ server, key, name, leaseSeconds: wholeSeconds(leaseSeconds), trustProxy, credentialHeader },
    listen: parseListen(listen, '--listen'),
    listenAdmin: listenAdmin === undefined ? undefined : parseListen(listenAdmin, '--listen-admin'),
    onLeaseLost: ({ code, message }) => output.stderr(`The lease is lost (${code}): ${message}. ${UNTIL_HELD}`),
  }).catch((error: LatchkeyError | Error) => {
    throw 'requestId' in error ? new ServerFailure(error.code, `${server}: ${error.message}`) : error
  })
  const probes = running.adminAddress === undefined ? '' : `; probes at ${running.adminAddress}`
  output.line(`The sidecar is ready at ${running.address} for ${server}${probes}`)
  await new Promise((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  await running.stop()
}

function wholeSeconds(text: string): number {
  const seconds = Number(text)
  if (!Number.isInteger(seconds) || seconds < 2 || seconds > 60) throw new UsageError('--lease-seconds must be 2 to 60')
  return seconds
}

function parseListen(text: string, option: string): Listen {
  if (/^unix:./.test(text)) return { path: text.slice('unix:'.length) }
  const [, host = '', port = ''] = /^\[?([^\]]+?)\]?:(\d{1,5})$/.exec(text) ?? []
  if (host === '' || Number(port) > 65_535) throw new UsageError(`${option} must be an address and port, or unix:PATH`)
  return { host, port: Number(port) }
}
