// Which tokens a bulk operation is about, in words.
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { BulkFilter, BulkOperation } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { linkTo } from '../history/wording.tsx'
import { Name } from '../ui/name.tsx'
import { say, together } from '../ui/say.ts'
import { Moment } from '../ui/time.tsx'

/** What follows "tokens". */
const WORDS: { readonly [Name in Exclude<keyof BulkFilter, 'ids'>]-?: (value: string) => ReactNode } = {
  subAccountId: (id) => say`of ${<SubAccountName id={id} />}`,
  status: (status) => `that were ${status}`,
  effectiveStatus: (status) => `that were ${status}`,
  search: (search) => say`with “${<Name>{search}</Name>}” in their name`,
  tag: (tag) => say`with the tag ${<Name>{tag}</Name>}`,
  credentialEnd: (end) => say`whose credential ends with ${<code>{end}</code>}`,
  used: () => 'that were never used',
  idleDays: (days) => `unused for ${days} days`,
  suspendedDays: (days) => `whose sub-account was suspended for ${days} days`,
  createdFrom: (at) => say`created from ${<Moment at={at} />}`,
  createdBefore: (at) => say`created before ${<Moment at={at} />}`,
  expiresFrom: (at) => say`expiring from ${<Moment at={at} />}`,
  expiresBefore: (at) => say`expiring before ${<Moment at={at} />}`,
}

const isKnown = (name: string): name is keyof typeof WORDS => Object.hasOwn(WORDS, name)

export function FilterWords({ filter }: Pick<BulkOperation, 'filter'>) {
  const words = Object.entries(filter).flatMap(([name, value]) =>
    // Which they are is in the history.
    name === 'ids'
      ? 'that were selected'
      : [value].flat().map((each) => (isKnown(name) ? WORDS[name](String(each)) : `${name}: ${each}`)),
  )
  return words.length === 0 ? 'All tokens of the account' : say`Tokens ${together(words, ', ')}`
}

function SubAccountName({ id }: { id: string }) {
  const { data } = useQuery(queries.subAccount(useClient(), id))
  return data === undefined ? <code>{id}</code> : linkTo(id, data.name)
}
