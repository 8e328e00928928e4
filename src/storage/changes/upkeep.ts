// Changes of master keys, and of what is sealed with them.
import type { MasterKeyStore } from '../../tokens/upkeep/ports.ts'
import { sharedSql } from '../questions/statements.ts'
import { own } from './write.ts'

/** Id, after, before. A sealed value is random: it is found in one of the columns. */
export const RESEAL_SECRETS = ['sealed', 'former_sealed'].map((column) =>
  sharedSql(`UPDATE webhooks SET ${column} = ?2 WHERE id = ?1 AND ${column} = ?3`),
)

export const upkeepWrites = {
  changeMasterKey: own<MasterKeyStore['changeMasterKey']>(),
  resealTokens: own<MasterKeyStore['resealTokens']>(),
  resealWebhooks: own<MasterKeyStore['resealWebhooks']>(),
  retireMasterKey: own<MasterKeyStore['retireMasterKey']>(),
}
