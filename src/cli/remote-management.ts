// Management through a server, with the rights of an account key.
import type {
  Access,
  BulkOperation,
  BulkPreview,
  BulkRequest,
  LatchkeyClient,
  LatchkeyError,
  LeakReport,
  ListAccountHistoryParams,
  ListTokensParams,
  NewKey,
  NewSubAccount,
  NewToken,
  NewWebhook,
  SubAccountPatch,
  TokenPatch,
  WebhookPatch,
} from '../../client/latchkey-client.ts'
import { OperatorError } from '../tokens/errors.ts'
import { overlapping, type Text } from '../tokens/leaks/candidates.ts'
import { MAX_LIMIT, type RawQuery } from '../tokens/model/page.ts'
import type { Server } from './contexts.ts'
import { downloadCsv } from './csv-download.ts'
import { EXIT, exitCodeOf, ServerFailure } from './exit-codes.ts'
import { type ExportedList, type Management, UsageError } from './management.ts'
import { untilOver } from './until-over.ts'

/** `account` is what the command names, which must be the account of the key. */
export async function manageThrough(
  server: Server,
  account: string | undefined,
  work: (management: Management) => Promise<void>,
): Promise<void> {
  // Loaded late: most commands work without it.
  const { createClient, LatchkeyError } = await import('../../client/latchkey-client.ts')
  const management = new RemoteManagement(createClient({ baseUrl: server.url, accountKey: server.key }), server)
  try {
    if (account !== undefined) await management.requireAccount(account)
    await work(management)
  } catch (error) {
    throw error instanceof LatchkeyError ? toFailure(error, server) : error
  }
}

const ALL_IS_LOCAL = '--all is for the local store: keys for all accounts belong to its operator.'
const NO_KEY = 'Set LATCHKEY_KEY to an account key, or use `latchkey context`.'

/** Where the server or the key is the matter, the message says which server. */
function toFailure({ code, message, status, requestId, cause }: LatchkeyError, { url, key }: Server): ServerFailure {
  const why = cause instanceof Error && cause.cause instanceof Error ? ` (${cause.cause.message})` : ''
  const request = status >= 500 && requestId !== undefined ? ` (request ${requestId})` : ''
  const failure = new ServerFailure(code, message)
  if (exitCodeOf(failure) === EXIT.refused) return new ServerFailure(code, `${message}${request}`)
  const advice = code === 'authentication-required' && key === undefined ? `. ${NO_KEY}` : ''
  return new ServerFailure(code, `${url}: ${message}${why}${request}${advice}`)
}

class RemoteManagement implements Management {
  readonly #client: LatchkeyClient
  readonly #server: Server

  constructor(client: LatchkeyClient, server: Server) {
    this.#client = client
    this.#server = server
  }

  async requireAccount(account: string): Promise<void> {
    const own = await this.#accountId()
    if (own !== account) throw new OperatorError(`The key is one of ${own}, not of ${account}. Leave the account out.`)
  }

  async #accountId(): Promise<string> {
    return (await this.#client.whoami()).account._id
  }

  whoami() {
    return this.#client.whoami()
  }

  verify(credential: string, access: Access) {
    return this.#client.verify(credential, access)
  }

  listTokens(query: RawQuery) {
    return this.#client.listTokens({ ...(query as ListTokensParams), include: 'details', credentials: 'masked' })
  }

  getToken(id: string, credentials: 'shown' | 'masked') {
    const masked = credentials === 'masked' ? { credentials } : {}
    return this.#client.getToken({ id, include: 'details', ...masked })
  }

  async createToken(body: NewToken, credential: string | undefined) {
    if (credential === undefined) return this.#client.createToken({ body })
    throw new UsageError('A server makes every credential itself: only the local store takes an existing one.')
  }

  patchToken(id: string, body: TokenPatch) {
    return this.#client.patchToken({ id, credentials: 'masked', body })
  }

  rotateToken(id: string, overlapSeconds: number) {
    return this.#client.rotateToken({ id, body: { overlapSeconds } })
  }

  deleteToken(id: string) {
    return this.#client.deleteToken({ id })
  }

  explainToken(id: string, { scope, address }: Access) {
    return this.#client.explainToken({ id, scope: scope === undefined ? scope : [scope].flat(), address })
  }

  tokenUsage(id: string, query: RawQuery) {
    return this.#client.getTokenUsage({ ...query, id })
  }

  recentVerifications(id: string) {
    return this.#client.getTokenRecent({ id })
  }

  /** A server shows no other account's. */
  accountOf() {
    return this.#accountId()
  }

  async previewChange(request: BulkRequest) {
    return (await this.#client.changeTokens({ body: { ...request, dryRun: true } })) as BulkPreview
  }

  async changeTokens(body: BulkRequest) {
    return (await this.#client.changeTokens({ body })) as BulkOperation
  }

  undoBulk(id: string) {
    return this.#client.undoBulk({ id })
  }

  getBulk(id: string) {
    return this.#client.getBulk({ id })
  }

  listBulk(query: RawQuery) {
    return this.#client.listBulk(query)
  }

  awaitBulk(id: string, onProgress: (operation: BulkOperation) => void) {
    return untilOver(() => this.getBulk(id), onProgress)
  }

  /** A server takes texts of some megabytes. What a later piece repeats was switched off with an earlier one. */
  async disableLeaked(text: Text, dryRun: boolean) {
    const found = new Map<string, LeakReport['found'][number]>()
    let disabled = 0
    for await (const piece of overlapping(text)) {
      // The search is for ASCII: what other characters become does not matter.
      const report = await this.#client.disableLeaked({ body: { text: piece.toString('latin1'), dryRun } })
      for (const token of report.found) if (!found.has(token._id)) found.set(token._id, token)
      disabled += report.disabled
    }
    return { found: [...found.values()], disabled }
  }

  listSubAccounts(query: RawQuery) {
    return this.#client.listSubAccounts(query)
  }

  getSubAccount(id: string) {
    return this.#client.getSubAccount({ id })
  }

  createSubAccount(body: NewSubAccount) {
    return this.#client.createSubAccount({ body })
  }

  patchSubAccount(id: string, body: SubAccountPatch) {
    return this.#client.patchSubAccount({ id, body })
  }

  async listKeys(isForAll: boolean) {
    if (isForAll) throw new UsageError(ALL_IS_LOCAL)
    return Array.fromAsync(this.#client.listKeys({ limit: MAX_LIMIT }))
  }

  async createKey(body: NewKey, isForAll: boolean) {
    if (isForAll) throw new UsageError(ALL_IS_LOCAL)
    return this.#client.createKey({ body })
  }

  revokeKey(id: string) {
    return this.#client.revokeKey({ id })
  }

  listVerifiers(query: RawQuery) {
    return this.#client.listVerifiers(query)
  }

  evictVerifier(id: string) {
    return this.#client.evictVerifier({ id })
  }

  listWebhooks(query: RawQuery) {
    return this.#client.listWebhooks(query)
  }

  createWebhook(body: NewWebhook) {
    return this.#client.createWebhook({ body })
  }

  patchWebhook(id: string, body: WebhookPatch) {
    return this.#client.patchWebhook({ id, body })
  }

  deleteWebhook(id: string) {
    return this.#client.deleteWebhook({ id })
  }

  rotateWebhook(id: string) {
    return this.#client.rotateWebhook({ id })
  }

  testWebhook(id: string) {
    return this.#client.testWebhook({ id })
  }

  listDeliveries(id: string, query: RawQuery) {
    return this.#client.listDeliveries({ ...query, id })
  }

  redeliver(id: string, deliveryId: string) {
    return this.#client.redeliver({ id, deliveryId })
  }

  skipDelivery(id: string, deliveryId: string) {
    return this.#client.skipDelivery({ id, deliveryId })
  }

  async listHistory(id: string | undefined, query: RawQuery) {
    const asked = query as ListAccountHistoryParams
    if (id !== undefined && !id.startsWith('acc_')) return this.#client.listTokenHistory({ ...asked, id })
    if (id !== undefined) await this.requireAccount(id)
    return this.#client.listAccountHistory(asked)
  }

  async *exportList(list: ExportedList, { all = false, ...query }: RawQuery & { readonly all?: boolean }, id?: string) {
    if (all) throw new UsageError(ALL_IS_LOCAL)
    const isAccount = id?.startsWith('acc_')
    if (id !== undefined && isAccount) await this.requireAccount(id)
    yield* downloadCsv(this.#server, list, isAccount ? undefined : id, query)
  }
}
