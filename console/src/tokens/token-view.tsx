// One token on a page of its own, with what can be done to it and its history.
import { Button, Group, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { Token } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { HistoryOf } from '../history/history-result.tsx'
import { TryIt } from '../policy/try-it.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { Facts } from '../ui/facts.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { TokenStatus } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { Moment, RelativeTime, useNow } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { RecentSection } from '../usage/recent-section.tsx'
import { UsageSection } from '../usage/usage-section.tsx'
import { EditableExpiry } from './expiry.tsx'
import { FormerCredentialUse } from './former-credential.tsx'
import { EditableMetadata } from './metadata.tsx'
import { EditableTags } from './tags.tsx'
import { TokenActionsProvider, useTokenActions } from './token-actions.tsx'
import { Owner, TokenCredential, TokenName } from './token-cells.tsx'
import { TokenPolicy } from './token-policy.tsx'
import { formerCredentialEnd } from './token-words.ts'
import classes from './tokens.module.css'

const route = getRouteApi('/tokens/$tokenId')

export function TokenView() {
  const { tokenId } = route.useParams()
  const navigate = route.useNavigate()
  const token = useQuery(queries.token(useClient(), tokenId))
  // Nothing is lost by it any more, though the dialog does not know yet.
  const onDeleted = () => void navigate({ to: '/tokens', ignoreBlocker: true })
  return (
    // Mounted again for each token: no dialog or form about one stays open on the page of another.
    <TokenActionsProvider key={tokenId} onDeleted={onDeleted}>
      <ViewTitle title={token.data?.name ?? 'Token'}>{token.data && <TokenButtons token={token.data} />}</ViewTitle>
      <QueryResult
        query={token}
        what="the token"
        errorAction={
          <Link to="/tokens" className={text.link}>
            To all tokens
          </Link>
        }
      >
        {(data) => (
          <div className={classes.columns}>
            <Stack gap="lg">
              <AllFacts token={data} />
              <TokenPolicy token={data} />
              <TryIt tokenId={tokenId} />
            </Stack>
            <Stack gap="lg">
              <UsageSection of={{ tokenId }} />
              <RecentSection tokenId={tokenId} />
              <div>
                <Title order={2} size="h4">
                  History
                </Title>
                <HistoryOf token={tokenId} />
              </div>
            </Stack>
          </div>
        )}
      </QueryResult>
    </TokenActionsProvider>
  )
}

function TokenButtons({ token }: { token: Token }) {
  const { start, permissions } = useTokenActions()
  const isActive = token.status === 'active'
  if (!permissions.change) return null
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => start('status', token)}>
        {isActive ? 'Disable' : 'Enable'}
      </Button>
      <Button variant="default" onClick={() => start('rotate', token)}>
        Rotate credential
      </Button>
      <Button variant="light" color="red" onClick={() => start('delete', token)}>
        Delete
      </Button>
    </Group>
  )
}

function AllFacts({ token }: { token: Token }) {
  const { lastUsedAt = null } = token.details ?? {}
  const hasFormer = formerCredentialEnd(token, useNow()) !== undefined
  return (
    <Facts
      isRaised
      facts={[
        ['Name', <TokenName key="name" token={token} />],
        ['Id', <CopyableId key="id" id={token._id} what="Token id" />],
        ['Sub-account', <Owner key="sub-account" token={token} />],
        ['Status', <TokenStatus key="status" token={token} />],
        ['Credential', <TokenCredential key="credential" token={token} />],
        ...(hasFormer ? [['Former one', <FormerCredentialUse key="former" token={token} />] as const] : []),
        ['Created', <Moment key="created" at={token.createdAt} />],
        ['Tags', <EditableTags key="tags" token={token} />],
        ['Last used', <RelativeTime key="used" at={lastUsedAt} none="Never" />],
        ['Expires', <EditableExpiry key="expires" token={token} />],
        ['Metadata', <EditableMetadata key="metadata" token={token} />],
      ]}
    />
  )
}
