// What an entry of the history makes out of date on this page.
import type { QueryKey } from '@tanstack/react-query'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { DELIVERIES, HISTORY, type HistoryParams, OUTDATED_BY, WEBHOOKS, WHOAMI } from '../api/queries.ts'

type Changed = Pick<HistoryEntry, 'action' | 'subject' | 'subAccount'>

const KEYS: Readonly<Record<string, readonly QueryKey[]>> = { ...OUTDATED_BY, account: [WHOAMI, HISTORY] }

const kindOf = ({ action }: Changed): string => action.split('.', 1)[0] ?? ''

/** Whether what was read by this key shows what has changed. */
export function shows(key: QueryKey, entry: Changed): boolean {
  const keys = KEYS[kindOf(entry)] ?? [HISTORY]
  return keys.some(([first]) => first === key[0]) && isAbout(key, entry)
}

/** Whether what was read by this key has to be read again: webhooks also say how many events wait. */
export const isOutdated = (key: QueryKey, entry: Changed): boolean =>
  shows(key, entry) || key[0] === WEBHOOKS[0] || key[0] === DELIVERIES[0]

/** Not so for the page or the history of another thing. */
function isAbout([what, how, id]: QueryKey, entry: Changed): boolean {
  const { subject, subAccount } = entry
  if (what === HISTORY[0]) {
    const { tokenId, subAccountId } = how as HistoryParams
    // The history of a token has what was done to its sub-account, whose id is in no key.
    if (tokenId !== undefined) return tokenId === subject || kindOf(entry) === 'sub-account'
    return (subAccountId ?? subAccount?._id) === subAccount?._id
  }
  if (how === 'list' || id === undefined) return true
  // The page of a token shows its sub-account, whose id is in no key.
  return id === subject || id === subAccount?._id || (what === 'tokens' && kindOf(entry) === 'sub-account')
}
