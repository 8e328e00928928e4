// Tokens as callers see them: with the credential, or with what may be seen of it, and with details where asked for.
import { Failure, failure } from '../model/errors.ts'
import { type Caller, seesUse } from '../model/permissions.ts'
import { NO_ACTIVITY, type RecentUses, shownInDetails, type Timestamp, type Token } from '../model/token.ts'
import { maskOf, NOT_STORED } from '../trust/credential.ts'
import { KeyNotGiven, lacksKey, type VaultStore } from '../trust/key-ring.ts'
import type { Parts } from '../trust/parts.ts'
import { listedState } from '../trust/verdict.ts'
import type { UsageStore } from '../usage/ports.ts'
import { NO_USES, recentQuestion, recentUses } from '../usage/usage.ts'
import type { ActivityStore, ExportedRow, TokenRow } from './ports.ts'

export interface TokenView {
  readonly details?: boolean
  readonly masked?: boolean
  readonly withoutMetadata?: boolean
  /** As if never used. */
  readonly withoutUse?: boolean
}

/** Callers who may see credentials can still ask not to. Metadata is the account's: developers in the portal do not see it. */
export function viewFor({ permissions }: Caller, { details = false, masked = false }: TokenView): TokenView {
  const { reveal, may } = permissions
  return { details, masked: masked || !reveal, withoutMetadata: may !== undefined, withoutUse: !seesUse(permissions) }
}

export type ViewPorts = ActivityStore & VaultStore & Pick<UsageStore, 'readUsage'>

export class TokenViews {
  readonly #parts: Parts<ViewPorts>
  // An engine returns the same object while nothing about it has changed, so its credential is decrypted once.
  readonly #opened = new WeakMap<TokenRow, string>()
  readonly #masked = new WeakMap<TokenRow, string>()

  constructor(parts: Parts<ViewPorts>) {
    this.#parts = parts
  }

  async show(rows: readonly TokenRow[], view: TokenView): Promise<Token[]> {
    const tokens = await (view.masked ? this.#mask(rows) : this.#open(rows))
    return view.details ? this.#withDetails(rows, tokens, view) : tokens
  }

  /** For exports: with details, but as if never used. */
  describe(rows: readonly ExportedRow[], view: TokenView): Promise<Token[]> {
    const tokens = rows.map((row) => toToken(row, ''))
    return this.#withDetails(rows, tokens, view, new Map())
  }

  async showOne(row: TokenRow, view: TokenView): Promise<Token> {
    const [token] = await this.show([row], view)
    return token as Token
  }

  /** The change is already durable: if its result cannot be shown, the failure must not claim that nothing was changed. */
  async showChanged(row: TokenRow, view: TokenView): Promise<Token> {
    try {
      return await this.showOne(row, view)
    } catch (error) {
      throw error instanceof Failure ? failure('outcome-unknown', error.cause ?? error) : error
    }
  }

  /** False for a credential that was shown once and is not stored; one that cannot be decrypted is shown as empty. */
  async canReveal(row: TokenRow): Promise<boolean> {
    await this.#open([row])
    return this.#opened.get(row) !== NOT_STORED
  }

  async #withDetails(
    rows: readonly ExportedRow[],
    tokens: readonly Token[],
    { withoutMetadata, withoutUse }: TokenView,
    known?: ReadonlyMap<string, RecentUses>,
  ): Promise<Token[]> {
    const { store, now } = this.#parts
    const ids = rows.map(({ token }) => token.id)
    const [first] = rows
    if (first === undefined) return []
    const at = now()
    const [activity, uses] = await Promise.all([
      store.findActivity(ids, at),
      known ?? (withoutUse ? new Map<string, RecentUses>() : this.#readUses(first.token.accountId, ids, at)),
    ])
    return rows.map(({ token, subAccount }, i) => {
      const usage = uses.get(token.id) ?? NO_USES
      const shown = withoutMetadata ? { ...shownInDetails(token), metadata: null } : shownInDetails(token)
      const { formerCredentialUntil, ...used } = activity.get(token.id) ?? NO_ACTIVITY
      const stored = { ...shown, ...(withoutUse ? NO_ACTIVITY : used), formerCredentialUntil, usage }
      return { ...(tokens[i] as Token), details: { ...stored, ...listedState(token, subAccount, at) } }
    })
  }

  async #readUses(accountId: string, ids: readonly string[], at: Timestamp): Promise<ReadonlyMap<string, RecentUses>> {
    return recentUses(await this.#parts.store.readUsage(accountId, recentQuestion(ids, at)), at)
  }

  /** Decrypts nothing, except for tokens made before their masked form was stored. */
  async #mask(rows: readonly TokenRow[]): Promise<Token[]> {
    const older = rows.filter((row) => row.token.masked === null && !this.#masked.has(row))
    const opened = await this.#open(older)
    for (const [i, row] of older.entries()) {
      const { credential, credentialUnreadable } = opened[i] as Token
      if (!credentialUnreadable) this.#masked.set(row, maskOf(credential))
    }
    return rows.map((row) => toToken(row, row.token.masked ?? this.#masked.get(row)))
  }

  /** A credential that cannot be decrypted is shown as empty: its token can still be listed, disabled, deleted and rotated. */
  async #open(rows: readonly TokenRow[]): Promise<Token[]> {
    const unreadable: { readonly id: string; readonly cause: unknown }[] = []
    const tokens = rows.map((row) => {
      try {
        return toToken(row, this.#openCredential(row))
      } catch (cause) {
        unreadable.push({ id: row.token.id, cause })
        return toToken(row, undefined)
      }
    })
    for (const { id, cause } of unreadable) {
      if (cause instanceof KeyNotGiven && (await this.#isNeeded(cause.keyId))) throw lacksKey(cause.keyId)
      this.#parts.onTampered({ kind: 'credential', id })
    }
    return tokens
  }

  #openCredential(row: TokenRow): string {
    let opened = this.#opened.get(row)
    if (opened === undefined) {
      opened = this.#parts.keys.openCredential(row.token)
      this.#opened.set(row, opened)
    }
    return opened === NOT_STORED ? (row.token.masked ?? '') : opened
  }

  /** A tampered row can name any key; only a key that the store knows can be one that this process lacks. */
  async #isNeeded(keyId: string): Promise<boolean> {
    return (await this.#parts.store.readVault()).some((row) => row.keyId === keyId)
  }
}

function toToken({ token, subAccount }: ExportedRow, credential: string | undefined): Token {
  const { id, name, status, createdAt, version } = token
  const credentialUnreadable = credential === undefined
  return { id, name, credential: credential ?? '', status, createdAt, version, subAccount, credentialUnreadable }
}
