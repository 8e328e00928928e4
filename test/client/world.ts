// What the tests of the client talk to: the real service, and small real servers between or instead of it that fail on purpose.
import { mkdtempSync, rmSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  request as sendRequest,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig } from '../../src/config.ts'
import { startServer } from '../../src/serve/serving.ts'

export async function openService(settings: Readonly<Record<string, string>> = {}) {
  const dataDir = mkdtempSync(join(tmpdir(), 'latchkey-client-'))
  const running = await startServer(readConfig({ PORT: '0', LATCHKEY_DATA_DIR: dataDir, ...settings }))
  const { operator, url } = running
  const account = await operator.createAccount('Acme')
  const { key: accountKey } = await operator.createKey(account.id, 'client', null)
  const close = async () => {
    await running.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { url, operator, account, accountKey, close }
}
export type Service = Awaited<ReturnType<typeof openService>>

export interface SmallServer {
  readonly url: string
  readonly close: () => void
  readonly cutAll: () => void
}

export async function listen(respond: RequestListener): Promise<SmallServer> {
  const server = createServer(respond)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const cutAll = () => server.closeAllConnections()
  const close = () => {
    server.close()
    cutAll()
  }
  return { url: `http://127.0.0.1:${port}`, close, cutAll }
}

/** Passes a request on to the service, with other headers if asked, and hands back the answer's own stream. */
export function passOn(request: IncomingMessage, to: string, more: Readonly<Record<string, string>> = {}) {
  return new Promise<IncomingMessage>((resolve, reject) => {
    const { method, url, headers } = request
    const onward = sendRequest(`${to}${url}`, { method, headers: { ...headers, ...more } }, resolve)
    request.pipe(onward.on('error', reject))
  })
}

export function relay(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.headers)
  answer.pipe(response)
}
