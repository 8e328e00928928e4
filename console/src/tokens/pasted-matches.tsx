// The tokens of what was pasted into the search: a credential, or the masked form of one.
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Empty } from '../ui/empty-page.tsx'
import { plural } from '../ui/format.ts'
import { type Column, List } from '../ui/list.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import text from '../ui/text.module.css'
import type { Pasted } from './pasted.ts'

const SEARCHED_FOR =
  'Paste a whole credential, or its masked form as lists show it. A name, an id, or the last four characters of a credential can be typed.'

interface PastedMatchesProps {
  readonly pasted: Pasted
  readonly columns: readonly Column<Token>[]
}

let turns = 0

export function PastedMatches({ pasted, columns }: PastedMatchesProps) {
  if (pasted.kind === 'key') {
    return (
      <Empty
        title="This is an account key, not a credential of a token"
        description={
          <>
            Keys are listed under{' '}
            <Link to="/keys" className={text.link}>
              Keys
            </Link>
            . It was not sent anywhere.
          </>
        }
      />
    )
  }
  if (pasted.kind === 'incomplete') return <Empty title="Nothing was searched for" description={SEARCHED_FOR} />
  // Mounted again for another one, so that what was found by the former is not shown for it.
  return <Found key={pasted.kind === 'credential' ? pasted.secret : pasted.end} pasted={pasted} columns={columns} />
}

function Found({ pasted, columns }: { pasted: Pasted & { end: string } } & Pick<PastedMatchesProps, 'columns'>) {
  const [turn] = useState(() => ++turns)
  const secret = pasted.kind === 'credential' ? { secret: pasted.secret } : {}
  const found = useQuery(queries.pasted(useClient(), { ...secret, end: pasted.end, turn }))
  return (
    <QueryResult query={found} what="the token" rows={1}>
      {({ isExact, page: { items, total } }) => {
        if (total === 0)
          return <Empty title="No token of this account has this credential" description={SEARCHED_FOR} />
        return (
          <>
            <Text size="sm" mb="xs" role="status">
              {isExact
                ? 'The token of this credential:'
                : `${plural(total, 'token')} with a credential that ends with ${pasted.end}.`}
              {!isExact && pasted.kind === 'credential' && ' This credential does not authenticate now.'}
            </Text>
            <List label="Tokens found by their credential" items={items} columns={columns} cardsBelow="68em" />
          </>
        )
      }}
    </QueryResult>
  )
}
