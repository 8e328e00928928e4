// The record of a new token.
import { newId, type Timestamp, type TokenRecord } from '../model/token.ts'
import { type NewToken, newTokenFields } from '../model/update.ts'
import { maskOf, NOT_STORED } from '../trust/credential.ts'
import { credentialContext, type MasterKey, type Stamps } from '../trust/vault.ts'

export interface TokenToSeal extends NewToken {
  readonly accountId: string
  readonly credential: string
  readonly createdAt: Timestamp
}

/** `isStored`: whether the credential can be shown again. */
export function sealToken(token: TokenToSeal, key: MasterKey, stamps: Stamps, isStored: boolean): TokenRecord {
  const { accountId, credential, createdAt } = token
  const fields = newTokenFields(token)
  const ids = { id: newId('tok', createdAt), subAccountId: fields.subAccountId, accountId }
  return {
    ...ids,
    ...fields,
    createdAt,
    version: 1,
    digest: stamps.digest(credential),
    masked: maskOf(credential),
    sealed: key.seal(isStored ? credential : NOT_STORED, credentialContext(ids)),
  }
}
