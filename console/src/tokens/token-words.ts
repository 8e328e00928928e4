// What a token is called, and whether its credential can be read.
import type { Token } from '../../../client/latchkey-client.ts'

/** For labels, which are read out without the row around them: tokens of two sub-accounts may have the same name. */
export const fullName = ({ name, subAccount }: Token): string => `${name} of ${subAccount.name}`

/**
 * A credential that the service cannot decrypt is empty. Masked answers decrypt nothing, so that of most tokens this is known
 * only once their credential is asked for.
 */
export const isUnreadable = ({ token }: Token): boolean => token === ''

/** Until when the credential from before a rotation works; undefined where none does. */
export function formerCredentialEnd({ details }: Token, now: number): string | undefined {
  const until = details?.formerCredentialUntil ?? undefined
  return until !== undefined && Date.parse(until) > now ? until : undefined
}
