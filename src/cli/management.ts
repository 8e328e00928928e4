// What commands do with tokens, sub-accounts, account keys, webhooks and the history: on the local store, or through a server. Both answer
// with the documents of the API, so that a command prints the same either way.
import type {
  Access,
  BulkOperation,
  BulkPage,
  BulkPreview,
  BulkRequest,
  CreatedKey,
  CreatedWebhook,
  DeletedToken,
  DeletedWebhook,
  Delivery,
  DeliveryPage,
  Explanation,
  HistoryPage,
  Key,
  LeakReport,
  NewKey,
  NewSubAccount,
  NewToken,
  NewWebhook,
  RecentVerifications,
  SubAccount,
  SubAccountPage,
  SubAccountPatch,
  Token,
  TokenPage,
  TokenPatch,
  Usage,
  Verdict,
  Verifier,
  VerifierPage,
  Webhook,
  WebhookPage,
  WebhookPatch,
  WebhookTest,
  WhoAmI,
} from '../../client/latchkey-client.ts'
import type { Text } from '../tokens/leaks/candidates.ts'
import type { RawQuery } from '../tokens/model/page.ts'

/** On the local store the operator asks, who has no account: the one that the command names, if it names one. */
export type Identity =
  | WhoAmI
  | {
      readonly account: WhoAmI['account'] | null
      readonly caller: { readonly kind: 'operator'; readonly _id: string; readonly name: string }
      readonly permissions: WhoAmI['permissions']
    }

/** Parameters of lists are passed on as they were typed: the domain checks them, here or in the server. */
export interface Management {
  whoami(): Promise<Identity>
  verify(credential: string, access: Access): Promise<Verdict>

  listTokens(query: RawQuery): Promise<TokenPage>
  /** With its details. */
  getToken(id: string, credentials: 'shown' | 'masked'): Promise<Token>
  /** The credential of another system; without one, a new one is generated. */
  createToken(fields: NewToken, credential: string | undefined): Promise<Token>
  patchToken(id: string, patch: TokenPatch): Promise<Token>
  rotateToken(id: string, overlapSeconds: number): Promise<Token>
  deleteToken(id: string): Promise<DeletedToken>
  explainToken(id: string, access: Access): Promise<Explanation>
  /** How often it was accepted and refused. */
  tokenUsage(id: string, query: RawQuery): Promise<Usage>
  recentVerifications(id: string): Promise<RecentVerifications>
  /** The account that has the token. */
  accountOf(tokenId: string): Promise<string>

  previewChange(request: BulkRequest): Promise<BulkPreview>
  changeTokens(request: BulkRequest): Promise<BulkOperation>
  undoBulk(id: string): Promise<BulkOperation>
  getBulk(id: string): Promise<BulkOperation>
  listBulk(query: RawQuery): Promise<BulkPage>
  /** Resolves when the operation is over. A server carries it out; on the local store this process does, if no server is faster. */
  awaitBulk(id: string, onProgress: (operation: BulkOperation) => void): Promise<BulkOperation>

  /** Switches off the tokens whose credentials stand in a text, unless it is a dry run. */
  disableLeaked(text: Text, dryRun: boolean): Promise<LeakReport>

  listSubAccounts(query: RawQuery): Promise<SubAccountPage>
  getSubAccount(id: string): Promise<SubAccount>
  createSubAccount(fields: NewSubAccount): Promise<SubAccount>
  patchSubAccount(id: string, patch: SubAccountPatch): Promise<SubAccount>

  /** All of them; or those for all accounts, which belong to none of them. */
  listKeys(isForAll: boolean): Promise<readonly Key[]>
  createKey(fields: NewKey, isForAll: boolean): Promise<CreatedKey>
  revokeKey(id: string): Promise<Key>

  listVerifiers(query: RawQuery): Promise<VerifierPage>
  evictVerifier(id: string): Promise<Verifier>

  listWebhooks(query: RawQuery): Promise<WebhookPage>
  createWebhook(fields: NewWebhook): Promise<CreatedWebhook>
  patchWebhook(id: string, patch: WebhookPatch): Promise<Webhook>
  deleteWebhook(id: string): Promise<DeletedWebhook>
  rotateWebhook(id: string): Promise<CreatedWebhook>
  testWebhook(id: string): Promise<WebhookTest>
  listDeliveries(id: string, query: RawQuery): Promise<DeliveryPage>
  redeliver(id: string, deliveryId: string): Promise<Delivery>
  skipDelivery(id: string, deliveryId: string): Promise<Delivery>

  /** Of an account or a token; without an id, of the account that is managed. */
  listHistory(id: string | undefined, query: RawQuery): Promise<HistoryPage>

  /** As CSV, piece by piece. `id` is whose history it is; `all` asks for the keys for all accounts. */
  exportList(list: ExportedList, query: RawQuery & { readonly all?: boolean }, id?: string): AsyncIterable<string>
}

export type ExportedList = 'tokens' | 'sub-accounts' | 'keys' | 'history'

/** The command cannot be carried out as it was typed. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
