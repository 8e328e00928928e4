// The store that this process has opened, as its operator. What an operation answers is what a server would answer.
import { type ParsedUrlQueryInput, parse, stringify } from 'node:querystring'
import type { Access, NewToken, Operations, Token } from '../../client/latchkey-client.ts'
import type { BulkOperation } from '../../client/operations.ts'
import type { Latchkey } from '../compose.ts'
import { permissionsToWire } from '../operations/account/document.ts'
import { keyToWire } from '../operations/keys/document.ts'
import { type Answer, type Input, listed, type Service } from '../operations/operation.ts'
import { tokenToWire } from '../operations/tokens/document.ts'
import { verdictToWire } from '../operations/verification/document.ts'
import { verifierToWire } from '../operations/verifiers/document.ts'
import { readAccess } from '../tokens/model/access.ts'
import { readPageRequest } from '../tokens/model/page.ts'
import type { Caller } from '../tokens/model/permissions.ts'
import { readNewToken } from '../tokens/model/update.ts'
import type { CreatedToken } from '../tokens/service/operator.ts'
import { ANSWERS, type CommandOperation, EXPORTS, type ExportedList } from './answers.ts'
import type { Target } from './target.ts'
import { UsageError } from './terminal/exit-codes.ts'
import { untilOver } from './until-over.ts'

/** The operator needs to name no account for these. */
const OF_ALL_ACCOUNTS: Readonly<Partial<Record<CommandOperation, Answer<object, Latchkey>>>> = {
  async revokeKey({ operator }, { params }) {
    return { data: keyToWire(await operator.revokeKey(params.id)) }
  },
  async listVerifiers({ verifiers }, { query }) {
    return listed(await verifiers.listAll(readPageRequest(query)), 'verifier(s)', verifierToWire)
  },
  async evictVerifier({ verifiers }, { params, origin }) {
    return { data: verifierToWire(await verifiers.evictAny(params.id, origin)) }
  },
}

interface Params {
  readonly id?: string
  readonly body?: unknown
}

const NO_ACCOUNT = 'Name the account: --account ID. `latchkey account list` shows all of this store.'

export class LocalTarget implements Target {
  readonly #latchkey: Latchkey
  readonly #accountId: string | undefined

  /** The account is needed only for what no id belongs to yet: lists, and what is created. */
  constructor(latchkey: Latchkey, accountId: string | undefined) {
    this.#latchkey = latchkey
    this.#accountId = accountId
  }

  get #operator() {
    return this.#latchkey.operator
  }

  async call<Id extends CommandOperation>(id: Id, params: Operations[Id]['params'] & Params) {
    const ofAll = this.#accountId === undefined ? OF_ALL_ACCOUNTS[id] : undefined
    const caller = ofAll ? this.#operator.actFor('') : await this.#callerFor(params)
    const answer = ofAll ?? (ANSWERS[id] as Answer<object, Service>)
    const { data } = await answer(this.#latchkey, this.#inputFrom(caller, params))
    return asSent(data) as Operations[Id]['data']
  }

  /** As a server has read it. */
  #inputFrom(caller: Caller, { body, ...params }: Params): Input {
    const given = Object.entries(params).filter(([, value]) => value !== undefined)
    const query = parse(stringify(Object.fromEntries(given) as ParsedUrlQueryInput))
    const origin = this.#operator.origin()
    return { caller, params: query as Input['params'], query, body: body && asSent(body), headers: {}, origin }
  }

  /** For the account of what has the id, or that of the sub-account of a new token. */
  async #callerFor({ id, body }: Params): Promise<Caller> {
    const owned = id ?? (body as { readonly subAccountId?: string } | undefined)?.subAccountId
    if (owned !== undefined) return this.#operator.actFor(await this.#operator.getOwner(owned))
    if (this.#accountId === undefined) throw new UsageError(NO_ACCOUNT)
    return this.#operator.actFor((await this.#operator.getAccount(this.#accountId)).id)
  }

  async *csv(list: ExportedList, params: object) {
    const { caller, query, params: path, origin } = this.#inputFrom(await this.#callerFor(params), params)
    const asked = { caller, query, params: path, now: origin.at }
    const { header, read } = await EXPORTS[list](this.#latchkey.registry, asked)
    yield header
    for (let part = await read(undefined); ; part = await read(part.next)) {
      yield part.text
      if (part.next === undefined) return
    }
  }

  async whoami() {
    const account = this.#accountId === undefined ? null : await this.#operator.getAccount(this.#accountId)
    const { by, permissions } = this.#operator.actFor(account?.id ?? '')
    return {
      account: account && { _id: account.id, name: account.name },
      caller: { kind: 'operator' as const, _id: by, name: by },
      permissions: permissionsToWire(permissions),
    }
  }

  /** A use of the credential, as it is over HTTP. */
  async verify(credential: string, access: Access) {
    const { verification } = this.#latchkey.registry
    const { address, ...scopes } = readAccess({ ...access })
    try {
      return verdictToWire(await verification.verify(credential, address, () => scopes))
    } finally {
      await verification.flush()
    }
  }

  async importToken(fields: NewToken, credential: string) {
    const token = readNewToken(fields)
    const caller = await this.#callerFor({ body: fields })
    const { subAccount } = await this.#latchkey.registry.getSubAccount(caller, token.subAccountId)
    const [created] = await this.#operator.createTokens([{ ...token, accountId: caller.accountId, credential }])
    // Not read back: where credentials are shown once, a failure would lose this one.
    return asSent(tokenToWire({ ...(created as CreatedToken), subAccount, credentialUnreadable: false })) as Token
  }

  accountOf(tokenId: string) {
    return this.#operator.getOwner(tokenId)
  }

  async inAccount(accountId: string) {
    return new LocalTarget(this.#latchkey, accountId)
  }

  async inAllAccounts() {
    if (this.#accountId !== undefined) throw new UsageError('Name an account, or --all, but not both.')
    return new LocalTarget(this.#latchkey, (await this.#operator.getAllAccounts()).id)
  }

  async awaitBulk(id: string, onProgress: (operation: BulkOperation) => void) {
    const failed = Promise.withResolvers<never>()
    const onFailed = (_: string, error: unknown) => failed.reject(error)
    const work = this.#latchkey.bulkWork({ onChanged: () => {}, onFailed })
    const look = async () => {
      await work.begin()
      return this.call('getBulk', { id })
    }
    try {
      return await Promise.race([untilOver(look, onProgress), failed.promise])
    } finally {
      await work.stop()
    }
  }
}

/** Over HTTP a document is JSON. */
const asSent = (document: unknown): unknown => JSON.parse(JSON.stringify(document))
