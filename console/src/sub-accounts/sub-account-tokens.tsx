// The first tokens of a sub-account in an order, on its page, with what can be done to each.
import { Button, Group, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import type { SubAccount } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { useClient } from '../api/session.tsx'
import { CreateDialog } from '../tokens/create-dialog.tsx'
import { TokenActionsProvider } from '../tokens/token-actions.tsx'
import { tokenColumns } from '../tokens/token-cells.tsx'
import { sortingOf, tokensQuery } from '../tokens/token-filters.ts'
import { type OpenMenu, TokenMenu } from '../tokens/token-menu.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { Empty } from '../ui/empty-page.tsx'
import { plural } from '../ui/format.ts'
import { Icon } from '../ui/icon.tsx'
import { List } from '../ui/list.tsx'
import { MaybeOutdated, QueryResult } from '../ui/query-result.tsx'
import text from '../ui/text.module.css'

const route = getRouteApi('/sub-accounts/$subAccountId')

/** The sub-account is the page's. */
const NOT_SHOWN = 'Sub-account'

export function SubAccountTokens({ subAccount: { _id, name } }: { subAccount: SubAccount }) {
  const { change } = usePermissions()
  const navigate = useNavigate()
  const { sort } = route.useSearch()
  const tokens = useQuery(tokensQuery(useClient(), { subAccount: _id, sort }))
  const sorting = sortingOf(sort, (order) => void navigate({ to: '.', search: { sort: order }, resetScroll: false }))
  const [menu, setMenu] = useState<OpenMenu>()
  const [isCreating, setCreating] = useState(false)
  const columns = useMemo(
    () => tokenColumns((token, button) => setMenu({ token, button })).filter(({ header }) => header !== NOT_SHOWN),
    [],
  )
  const close = () => setCreating(false)
  const showHistory = useCallback(
    (tokenId: string) => void navigate({ to: '/tokens/$tokenId', params: { tokenId } }),
    [navigate],
  )
  return (
    <section aria-label={`Tokens of ${name}`}>
      <TokenActionsProvider showHistory={showHistory}>
        <Group justify="space-between" mb={8}>
          <Title order={2} size="h4">
            Tokens
          </Title>
          {change && (
            <Button size="xs" variant="default" leftSection={<Icon name="plus" />} onClick={() => setCreating(true)}>
              Create token
            </Button>
          )}
        </Group>
        <QueryResult query={tokens} what="its tokens" rows={4}>
          {({ items, total }) =>
            total === 0 ? (
              <Empty title="No tokens yet" description={change ? 'Create the first one.' : undefined} />
            ) : (
              <>
                <MaybeOutdated query={tokens}>
                  <List
                    label={`Tokens of ${name}`}
                    items={items}
                    columns={columns}
                    cardsBelow="68em"
                    sorting={sorting}
                  />
                </MaybeOutdated>
                <Link to="/tokens" search={{ subAccount: _id, sort }} className={text.link}>
                  {total > items.length ? `All ${plural(total, 'token')}` : 'Filter and select them'}
                </Link>
              </>
            )
          }
        </QueryResult>
        {menu !== undefined && <TokenMenu menu={menu} close={() => setMenu(undefined)} />}
      </TokenActionsProvider>
      <Dialog shown={isCreating || undefined} titleOf={() => 'Create a token'} close={close}>
        {() => <CreateDialog subAccountId={_id} close={close} />}
      </Dialog>
    </section>
  )
}
