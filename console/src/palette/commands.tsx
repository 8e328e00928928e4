// What the command palette offers for what is typed: views and actions by their names, tokens and sub-accounts by what is known of them.
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SubAccount, Token } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { MASKED, queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { MORE_VIEWS, viewsFor } from '../app/views.ts'
import { type Pasted, readPasted } from '../tokens/pasted.ts'
import { isTokenId, tokensQuery } from '../tokens/token-filters.ts'

/** What is not only a way to another page. */
export type PaletteDialog = 'create-token' | 'create-sub-account'

export interface Command {
  readonly id: string
  readonly name: string
  readonly detail: ReactNode
  readonly run: () => void
}

const FOUND = 5
const TYPING_MS = 150
const SUB_ACCOUNT_ID = /^sub_[0-9a-f]{28}$/

interface Found {
  readonly commands: readonly Command[]
  readonly isSearching: boolean
  /** Why there is nothing, where that can be said. */
  readonly nothing: string
}

const SEARCHED_FOR =
  'Nothing found. Type the name of a view, an action, a token or a sub-account, an e-mail address, a company, an id, the last four ' +
  'characters of a credential, or paste a credential or its mask.'

export function useCommands(typed: string, turn: number, open: (dialog: PaletteDialog) => void): Found {
  const text = typed.trim()
  const pasted = readPasted(text)
  const [search] = useDebouncedValue(pasted === undefined ? text : '', TYPING_MS)
  const own = useOwn(open)
  const tokens = useTokensFor(search, pasted, turn)
  const subAccounts = useSubAccountsFor(search)
  if (pasted?.kind === 'key')
    return { commands: [], isSearching: false, nothing: 'This is an account key, not a credential.' }
  const isSettled = pasted !== undefined || search === text
  return {
    commands: [
      ...(pasted === undefined ? own.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase())) : []),
      ...(isSettled ? [...subAccounts.found, ...tokens.found] : []),
    ],
    isSearching: !isSettled || tokens.isFetching || subAccounts.isFetching,
    nothing: SEARCHED_FOR,
  }
}

function useOwn(open: (dialog: PaletteDialog) => void): readonly Command[] {
  const permissions = usePermissions()
  const navigate = useNavigate()
  const views = [...viewsFor(permissions), ...MORE_VIEWS].map(({ to, label }) => ({
    ...{ id: to, name: label, detail: 'View' },
    run: () => void navigate({ to }),
  }))
  const action = (id: PaletteDialog, name: string) => ({ id, name, detail: 'Action', run: () => open(id) })
  return [
    ...views,
    ...(permissions.change ? [action('create-token', 'Create token')] : []),
    ...(permissions.createSubAccounts ? [action('create-sub-account', 'Create sub-account')] : []),
  ]
}

function useTokensFor(search: string, pasted: Pasted | undefined, turn: number) {
  const client = useClient()
  const navigate = useNavigate()
  const isPasted = pasted !== undefined && 'end' in pasted
  const isEnd = /^[\x21-\x7e]{4}$/.test(search)
  const byPaste = useQuery({
    ...queries.pasted(client, {
      ...(pasted?.kind === 'credential' && { secret: pasted.secret }),
      end: isPasted ? pasted.end : '',
      turn,
    }),
    enabled: isPasted,
  })
  const byName = useQuery({
    ...tokensQuery(client, { search, limit: FOUND }),
    enabled: search !== '' && pasted === undefined,
  })
  const byEnd = useQuery({
    ...queries.tokens(client, { credentialEnd: search, limit: FOUND }, () => ({
      ...{ credentialEnd: search, limit: FOUND },
      ...MASKED,
    })),
    enabled: isEnd && pasted === undefined,
  })
  const lists = [byName, isEnd ? byEnd : undefined].map((query) =>
    query?.isPlaceholderData ? [] : (query?.data?.items ?? []),
  )
  const items = isPasted ? (byPaste.data?.page.items ?? []) : search === '' ? [] : lists.flat()
  const unique = [...new Map(items.map((token) => [token._id, token])).values()]
  const toCommand = ({ _id, name, subAccount, status }: Token): Command => ({
    id: _id,
    name,
    detail: `Token of ${subAccount.name}${status === 'active' ? '' : ', inactive'}`,
    run: () => void navigate({ to: '/tokens/$tokenId', params: { tokenId: _id } }),
  })
  return {
    found: unique.slice(0, 2 * FOUND).map(toCommand),
    isFetching: byPaste.isFetching || byName.isFetching || byEnd.isFetching,
  }
}

function useSubAccountsFor(search: string) {
  const client = useClient()
  const navigate = useNavigate()
  const isId = SUB_ACCOUNT_ID.test(search)
  const one = useQuery({ ...queries.subAccount(client, search), enabled: isId })
  const some = useQuery({
    ...queries.subAccounts(client, { search, limit: FOUND }),
    enabled: search !== '' && !isId && !isTokenId(search),
  })
  const items: readonly SubAccount[] = isId
    ? [one.data ?? []].flat()
    : some.isPlaceholderData
      ? []
      : (some.data?.items ?? [])
  const toCommand = ({ _id, name, companyName, status }: SubAccount): Command => ({
    id: _id,
    name,
    detail: `Sub-account, ${companyName}${status === 'active' ? '' : ', suspended'}`,
    run: () => void navigate({ to: '/sub-accounts/$subAccountId', params: { subAccountId: _id } }),
  })
  return { found: search === '' ? [] : items.map(toCommand), isFetching: one.isFetching || some.isFetching }
}
