// The keys under which answers of the service are cached, and which of them a change makes out of date.

export const QUERY_KEYS = {
  overview: ['overview'],
  tokens: ['tokens'],
  subAccounts: ['sub-accounts'],
  subAccount: ['sub-account'],
  history: ['history'],
} as const

export type Kind = 'token' | 'sub-account'

/** The lists that show things of a kind. */
export const LISTS = { token: QUERY_KEYS.tokens, 'sub-account': QUERY_KEYS.subAccounts } as const

const { overview, tokens, subAccounts, subAccount, history } = QUERY_KEYS

/** Sub-accounts and the overview count tokens; a token shows its sub-account. */
export const OUTDATED_BY = {
  token: [tokens, subAccounts, overview, history],
  'sub-account': [subAccounts, subAccount, tokens, overview, history],
} as const
