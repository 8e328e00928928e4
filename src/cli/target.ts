// Where commands do their work: on a server, through the client, or on the store that this process has opened, as its operator. Both answer
// with the documents of the API, so that a command prints the same either way.
import type { Access, NewToken, Operations, Token, Verdict, WhoAmI } from '../../client/latchkey-client.ts'
import type { BulkOperation } from '../../client/operations.ts'
import type { CommandOperation, ExportedList } from './answers.ts'

/** On the local store the operator asks, who has no account: the one that the command names, if it names one. */
export type Identity =
  | WhoAmI
  | {
      readonly account: WhoAmI['account'] | null
      readonly caller: { readonly kind: 'operator'; readonly _id: string; readonly name: string }
      readonly permissions: WhoAmI['permissions']
    }

export interface Target {
  /** Resolves to the `data` of the answer. Parameters of lists are passed on as they were typed: the domain checks them. */
  call<Id extends CommandOperation>(id: Id, params: Operations[Id]['params']): Promise<Operations[Id]['data']>
  /** As CSV, piece by piece. */
  csv(list: ExportedList, params: object): AsyncIterable<string>
  whoami(): Promise<Identity>
  verify(credential: string, access: Access): Promise<Verdict>
  /** With the credential of another system. */
  importToken(fields: NewToken, credential: string): Promise<Token>
  /** The account that has the token. */
  accountOf(tokenId: string): Promise<string>
  /** The same, in this account. A key has its own, and works in no other. */
  inAccount(accountId: string): Promise<Target>
  /** For the account that has the keys for all accounts. */
  inAllAccounts(): Promise<Target>
  /** Resolves when the operation is over. A server carries it out; on the local store this process does, if no server is faster. */
  awaitBulk(id: string, onProgress: (operation: BulkOperation) => void): Promise<BulkOperation>
}
