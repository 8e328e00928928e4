// Asks the server that runs with the same settings whether it is ready: for health checks where there is no curl.
import type { Command } from 'commander'
import { type Config, readProcessConfig } from '../config.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import { JSON_OPTION } from './command.ts'
import { Output, type Streams } from './terminal/output.ts'

/** Not imported, for the reason given in http/protocol/node-server.ts. */
const { get } = process.getBuiltinModule('node:http')
const TIMEOUT_MS = 3_000
/** To these a server listens, but nobody can connect to them on every system. */
const ALL_ADDRESSES: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' }

export function addReadyCommand(program: Command, streams: Streams): void {
  program
    .command('ready')
    .description('ask the server with these settings whether it is ready; fails if it is not')
    .option(...JSON_OPTION)
    .action(async ({ json }: { json?: boolean }) => {
      const url = readyUrl(readProcessConfig())
      const answer = await ask(url)
      if (typeof answer === 'string') {
        throw new OperatorError(
          `${url}: ${answer}. The server must run, and HOST and PORT must be set as for the server.`,
        )
      }
      if (answer !== 200) throw new OperatorError(`${url}: ${answer}`)
      new Output(streams, json === true).result({ url, ready: true }, { title: `${url}: ready` })
    })
}

function readyUrl({ host, port }: Config): URL {
  if (port === 0) throw new OperatorError('PORT is 0, so the port of the server is not known here')
  const address = ALL_ADDRESSES[host] ?? host
  return new URL(`http://${address.includes(':') ? `[${address}]` : address}:${port}/readyz`)
}

/** The status, or why there is none. */
function ask(url: URL): Promise<number | string> {
  return new Promise((resolve) => {
    const request = get(url, { timeout: TIMEOUT_MS }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    request.on('timeout', () => request.destroy(new Error(`no answer within ${TIMEOUT_MS / 1000} s`)))
    request.on('error', ({ message }) => resolve(message))
  })
}
