// The sidecar: `GET /api/v1/verify` as the service answers it, from the memory of a verifier on the same machine. It has no store.
import { unlinkSync } from 'node:fs'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { type Decided, LeasedVerifier, type VerifierOptions } from '../../client/verifier/verifier.ts'
import { presentedIn } from '../http/access/caller.ts'
import { clientAddressReader } from '../http/access/client-address.ts'
import { readVerifyQuery } from '../http/plain/verify.ts'
import { answerMalformed, isUnambiguous, limitUnread, notHttp } from '../http/protocol/client-error.ts'
import { answerTo, routeNotFound } from '../http/protocol/failures.ts'
import { createNodeServer } from '../http/protocol/node-server.ts'
import { requestIdOf } from '../http/protocol/request-id.ts'
import { OperatorError } from '../tokens/model/errors.ts'
import type { RawQuery } from '../tokens/model/page.ts'
import { acceptance, refusal, type VerificationAnswer } from '../tokens/verify/answer.ts'
import type { Access } from '../tokens/verify/policy.ts'

/** Where it listens: an address and a port, or the path of a local socket. */
export type Listen = { readonly host: string; readonly port: number } | { readonly path: string }

export interface SidecarOptions
  extends Pick<VerifierOptions, 'name' | 'leaseSeconds' | 'maxEntries' | 'onLeaseLost' | 'fetch'> {
  readonly server: string
  readonly key: string
  readonly listen: Listen
  /** Where probes and metrics are answered; beside verification without it. */
  readonly listenAdmin?: Listen | undefined
  /** As LATCHKEY_TRUST_PROXY of the service. */
  readonly trustProxy: readonly string[]
  readonly credentialHeader?: string | undefined
}

export interface RunningSidecar {
  /** `http://127.0.0.1:4180` or `unix:PATH`. */
  readonly address: string
  /** In the same form. */
  readonly adminAddress: string | undefined
  readonly stop: () => Promise<void>
}

const PATH = '/api/v1/verify'
/** A process that opens a local socket is one of this machine, to which the file's mode gives access: its proxy header counts. */
const LOCAL_PEER = '127.0.0.1'

export async function startSidecar(options: SidecarOptions): Promise<RunningSidecar> {
  const { server: baseUrl, key, name, leaseSeconds, maxEntries, onLeaseLost, fetch, listen, listenAdmin } = options
  const verifier = new LeasedVerifier({ baseUrl, key, name, leaseSeconds, maxEntries, onLeaseLost, fetch })
  await verifier.start()
  const [verify, probe] = [verificationWith(verifier, options), probesOf(verifier)]
  const isApart = listenAdmin !== undefined
  const listeners: Listener[] = [{ listen, option: '--listen', server: serverOf(isApart ? [verify] : [verify, probe]) }]
  if (isApart) listeners.push({ listen: listenAdmin, option: '--listen-admin', server: serverOf([probe]) })
  const stop = async () => {
    await Promise.all(listeners.map(close))
    await verifier.close()
  }
  try {
    for (const each of listeners) await open(each)
  } catch (error) {
    await stop()
    throw error
  }
  const [address = '', adminAddress] = listeners.map(addressOf)
  return { address, adminAddress, stop }
}

interface Listener {
  readonly server: Server
  readonly listen: Listen
  readonly option: string
}

type Answer = Omit<VerificationAnswer, 'body'> & { readonly body: object | string | undefined }
/** Undefined where nothing is at this path. */
type Respond = (path: string, request: IncomingMessage) => Answer | Promise<Answer> | undefined

/** With the limits of the service, and what is ambiguous is refused as by the service. */
function serverOf(responders: readonly Respond[]): Server {
  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (!isUnambiguous(request)) throw notHttp()
    // As it was sent: a gateway has put the client's own path behind the prefix, and its dots must not lead out of it.
    const [path = ''] = request.url?.split('?', 1) ?? []
    for (const respond of responders) {
      const answered = respond(path, request)
      if (answered !== undefined) return answered
    }
    throw routeNotFound()
  }
  const server = createNodeServer((request, response) => {
    // Gateways send the client's headers, and some its body: nothing of it is read.
    request.resume()
    answer(request).then(
      (answered) => send(request, response, answered),
      (error: unknown) => send(request, response, answerTo(error)),
    )
  })
  return server.on('clientError', answerMalformed)
}

function probesOf(verifier: LeasedVerifier): Respond {
  const probes: Readonly<Record<string, () => Answer>> = {
    '/healthz': () => ({ status: 200, headers: {}, body: { status: 'ok' } }),
    '/readyz': () => readiness(verifier),
    '/metrics': () => ({ status: 200, headers: METRICS_TYPE, body: metricsOf(verifier) }),
  }
  return (path) => (Object.hasOwn(probes, path) ? probes[path]?.() : undefined)
}

function verificationWith(verifier: LeasedVerifier, options: SidecarOptions): Respond {
  const readAddress = addressReader(options)
  const verifyWith = (request: IncomingMessage, readAccess: () => Access) => {
    const presented = presentedIn({ headers: request.headers, raw: request }, options.credentialHeader)
    return presented === undefined ? refusal({ reason: 'missing' }) : verified(verifier, presented, readAccess)
  }
  return (path, request) => {
    if (path === PATH) {
      return verifyWith(request, () => ({ ...readVerifyQuery(queryOf(request)), address: readAddress(request) }))
    }
    if (!path.startsWith(`${PATH}/`)) return undefined
    // Envoy puts the path and query of the client's request behind the prefix, and takes only 200 for a yes.
    return withStatus200(verifyWith(request, () => ({ address: readAddress(request) })))
  }
}

async function withStatus200(answering: Answer | Promise<Answer>): Promise<Answer> {
  const answer = await answering
  return answer.status === 204 ? { ...answer, status: 200 } : answer
}

function queryOf({ url = '' }: IncomingMessage): RawQuery {
  const parameters = new URLSearchParams(url.slice(PATH.length))
  return Object.fromEntries([...parameters.keys()].map((name) => [name, oneOrAll(parameters.getAll(name))]))
}

const oneOrAll = (values: readonly string[]) => (values.length === 1 ? values[0] : values)

/** A query that is not valid is 400 only to a credential that authenticates, as at the service. */
async function verified(verifier: LeasedVerifier, presented: string, readAccess: () => Access): Promise<Answer> {
  let access: Access
  try {
    access = readAccess()
  } catch (error) {
    const { verdict } = await verifier.decide(presented)
    if (verdict.accepted || !UNAUTHENTICATED.includes(verdict.reason)) throw error
    return refusal(verdict)
  }
  const scope = access.scopes?.map((needed) => needed.join(' '))
  return answerOf(await verifier.decide(presented, { scope, address: access.address }), scope?.[0])
}

const UNAUTHENTICATED: readonly string[] = ['unknown', 'inactive', 'suspended', 'expired', 'unavailable']

function answerOf({ verdict, limits }: Decided, scope: string | undefined): VerificationAnswer {
  return verdict.accepted ? acceptance(verdict, limits) : refusal({ ...verdict, limits, scope })
}

function addressReader({ listen, trustProxy }: SidecarOptions): (request: IncomingMessage) => string | undefined {
  const isLocal = 'path' in listen
  const read = clientAddressReader(isLocal ? [...trustProxy, LOCAL_PEER] : trustProxy, () => undefined)
  return ({ headers, socket }) => {
    if (isLocal) return headers['x-forwarded-for'] === undefined ? undefined : read({ ip: LOCAL_PEER, headers })
    return read({ ip: socket.remoteAddress ?? '', headers })
  }
}

function readiness({ state }: LeasedVerifier): Answer {
  if (state.lease === 'held') return { status: 200, headers: {}, body: { status: 'ready' } }
  const body = { status: 'not ready', reason: 'The sidecar holds no lease: each verification asks the service' }
  return { status: 503, headers: {}, body }
}

const METRICS_TYPE = { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }

function metricsOf({ state: { lease, entries, fromMemory, fromService } }: LeasedVerifier): string {
  return [
    '# HELP latchkey_sidecar_verifications_total Verifications, by where the verdict came from.',
    '# TYPE latchkey_sidecar_verifications_total counter',
    `latchkey_sidecar_verifications_total{source="memory"} ${fromMemory}`,
    `latchkey_sidecar_verifications_total{source="service"} ${fromService}`,
    '# HELP latchkey_sidecar_lease_held Whether verdicts may come from memory.',
    '# TYPE latchkey_sidecar_lease_held gauge',
    `latchkey_sidecar_lease_held ${lease === 'held' ? 1 : 0}`,
    '# HELP latchkey_sidecar_entries Credentials that are remembered.',
    '# TYPE latchkey_sidecar_entries gauge',
    `latchkey_sidecar_entries ${entries}`,
    '',
  ].join('\n')
}

function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void {
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  if (!request.complete && !request.readableEnded) limitUnread(request)
  response.writeHead(status, {
    ...(text !== undefined && {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(text),
    }),
    ...headers,
    'x-request-id': requestIdOf(request),
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    // Node.js drops what follows a request with an Upgrade header.
    ...(request.headers.upgrade !== undefined && { connection: 'close' }),
  })
  response.end(request.method === 'HEAD' ? undefined : text)
}

async function open({ server, listen, option }: Listener): Promise<void> {
  if ('path' in listen) await removeStale(listen.path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(listen, () => resolve())
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    throw new OperatorError(
      `${'path' in listen ? listen.path : `Port ${listen.port}`} is in use. Choose another ${option}.`,
    )
  })
}

/** Also one that was not opened. */
async function close({ server }: Listener): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  await closed
}

/** The socket of a process that ended without removing it. */
function removeStale(path: string): Promise<void> {
  return new Promise((resolve) => {
    const probe = connect(path, () => resolve(void probe.destroy()))
    probe.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNREFUSED') unlinkSync(path)
      resolve()
    })
  })
}

function addressOf({ server, listen }: Listener): string {
  const bound = server.address()
  if ('path' in listen || bound === null || typeof bound === 'string')
    return `unix:${'path' in listen ? listen.path : ''}`
  return `http://${bound.address.includes(':') ? `[${bound.address}]` : bound.address}:${bound.port}`
}
