// Bulk operations as callers order, watch and undo them. What carries them out is bulk-work.ts, whichever process has time.

import { type AskedOnce, askedOnce, findFormer, once } from '../changes/idempotency.ts'
import type { Origin } from '../history/history.ts'
import { Failure } from '../model/errors.ts'
import { type Page, type PageRequest, scopedQuery, type TokenQuery, toPage } from '../model/page.ts'
import type { Caller } from '../model/permissions.ts'
import { newId } from '../model/token.ts'
import type { RequestStore, TokenRow, TokenStore } from '../service/ports.ts'
import type { Parts } from '../trust/parts.ts'
import {
  type BulkRequest,
  type ChosenTokens,
  NOTHING_DONE,
  queryOf,
  readBulkQuery,
  type StoredBulk,
  scopeOf,
} from './bulk.ts'
import { orderedBy, otherTotal, requireExpected, requireRoom } from './plan.ts'
import type { BulkStore } from './ports.ts'

export type BulkPorts = BulkStore & RequestStore & Pick<TokenStore, 'listTokens'>

/** What an operation would change. */
export interface BulkPreview {
  readonly total: number
  /** The newest of them. */
  readonly sample: readonly TokenRow[]
}

const SAMPLE = 10

export class Bulk {
  readonly #parts: Parts<BulkPorts>
  #hasOrders = false

  constructor(parts: Parts<BulkPorts>) {
    this.#parts = parts
  }

  async preview(caller: Caller, { filter, expectedTotal }: BulkRequest, { at }: Origin): Promise<BulkPreview> {
    const query = scopedQuery(readBulkQuery(filter, at), caller.permissions)
    const page = { page: 1, limit: SAMPLE }
    const found = query && (await this.#parts.store.listTokens(caller.accountId, { ...query, ...page }))
    if (found === undefined) throw new Failure('sub-account-forbidden')
    if (expectedTotal !== undefined && expectedTotal !== found.total) throw otherTotal(found.total, expectedTotal)
    return { total: found.total, sample: found.items }
  }

  /**
   * Which tokens it is about is settled when this resolves: those that match in between. Each is compared with the filter again when it is
   * changed.
   */
  async order(caller: Caller, request: BulkRequest, origin: Origin, idempotencyKey?: string): Promise<StoredBulk> {
    const { action, filter, expectedTotal, reason = null } = request
    const { accountId, by, byName = null } = caller
    const filterText = JSON.stringify(filter)
    const asked = askedOnce(caller, idempotencyKey, 'bulk', [action, filterText, expectedTotal ?? null, reason])
    const operation = {
      ...{
        id: newId('blk', origin.at),
        accountId,
        action,
        filter: filterText,
        reason,
        createdAt: origin.at,
        by,
        byName,
      },
      scope: scopeOf(caller.permissions.subAccounts),
      ordered: orderedBy(origin),
      ...NOTHING_DONE,
    }
    // Rejects what the caller does not see.
    const query = queryOf({ ...operation, total: 0, parts: 0 })
    const order = async (origin: Origin) => {
      const chosen = await this.#choose(accountId, query, expectedTotal).catch((error) =>
        this.#unlessDone(asked, by, error),
      )
      return this.#ordered(this.#parts.store.insertBulk(operation, chosen, origin))
    }
    return once(this.#parts, asked, origin, operation, order, ({ subject }) => this.get(caller, subject))
  }

  /** What is refused here is no work for the writer. */
  async #choose(accountId: string, query: TokenQuery, expectedTotal: number | undefined): Promise<ChosenTokens> {
    requireRoom(await this.#parts.store.countRunningBulk(accountId))
    return requireExpected(await this.#parts.store.chooseBulk(accountId, query), expectedTotal)
  }

  /** If the same request was made before, that may be why it is refused now. */
  async #unlessDone(asked: AskedOnce | undefined, by: string, error: unknown): Promise<never> {
    const former = asked && (await findFormer(this.#parts, asked, by))
    throw former === undefined ? error : new Failure('idempotency-conflict')
  }

  async #ordered(change: Promise<StoredBulk>): Promise<StoredBulk> {
    const operation = await change
    this.#hasOrders = true
    return operation
  }

  /** Whether anything was ordered through this process since the last call: it need not wait until somebody looks. */
  takeOrders(): boolean {
    const had = this.#hasOrders
    this.#hasOrders = false
    return had
  }

  async list(caller: Caller, query: PageRequest): Promise<Page<StoredBulk>> {
    const scope = scopeOf(caller.permissions.subAccounts)
    return toPage(await this.#parts.store.listBulk(caller.accountId, { ...query, scope }), query)
  }

  async get(caller: Caller, id: string): Promise<StoredBulk> {
    const scope = scopeOf(caller.permissions.subAccounts)
    const found = await this.#parts.store.findBulk(caller.accountId, id)
    if (found === undefined || (scope !== null && found.scope !== scope)) throw new Failure('bulk-not-found')
    return found
  }

  async undo(caller: Caller, id: string, origin: Origin, idempotencyKey?: string): Promise<StoredBulk> {
    await this.get(caller, id)
    const asked = askedOnce(caller, idempotencyKey, 'bulk-undo', [id])
    const scope = scopeOf(caller.permissions.subAccounts)
    const undo = (origin: Origin) => this.#ordered(this.#parts.store.undoBulk(caller.accountId, id, scope, origin))
    return once(this.#parts, asked, origin, { id, createdAt: origin.at }, undo, () => this.get(caller, id))
  }
}
