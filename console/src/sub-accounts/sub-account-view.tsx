// One sub-account, a customer, on a page of its own: its facts, its tokens, the policy under which all of them are, and what was done
// to it and to them.
import { Button, Group, Stack, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { SubAccount, SubAccountPolicy } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { HistoryOf } from '../history/history-result.tsx'
import type { PolicyOwner } from '../policy/policy-form.tsx'
import { PolicySection } from '../policy/policy-section.tsx'
import { CopyableId } from '../ui/copyable-id.tsx'
import { Facts } from '../ui/facts.tsx'
import { Metadata } from '../ui/metadata.tsx'
import { Name } from '../ui/name.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import { SubAccountStatus } from '../ui/status.tsx'
import text from '../ui/text.module.css'
import { Moment } from '../ui/time.tsx'
import { ViewTitle } from '../ui/view-title.tsx'
import { UsageSection } from '../usage/usage-section.tsx'
import { TokenCounts } from './sub-account-cells.tsx'
import { type OpenDialog, SubAccountDialog } from './sub-account-dialog.tsx'
import { SubAccountTokens } from './sub-account-tokens.tsx'

const route = getRouteApi('/sub-accounts/$subAccountId')

/** Mounted again for each sub-account: no dialog or form about one stays open on the page of another. */
export function SubAccountView() {
  const { subAccountId } = route.useParams()
  return <OneSubAccount key={subAccountId} id={subAccountId} />
}

function OneSubAccount({ id }: { id: string }) {
  const subAccount = useQuery(queries.subAccount(useClient(), id))
  const [dialog, setDialog] = useState<OpenDialog>()
  return (
    <>
      <ViewTitle title={subAccount.data?.name ?? 'Sub-account'}>
        {subAccount.data && <Buttons subAccount={subAccount.data} open={setDialog} />}
      </ViewTitle>
      <QueryResult
        query={subAccount}
        what="the sub-account"
        errorAction={
          <Link to="/sub-accounts" className={text.link}>
            To all sub-accounts
          </Link>
        }
      >
        {(data) => (
          <Stack gap="lg">
            <AllFacts subAccount={data} />
            <SubAccountTokens subAccount={data} />
            <PolicySection owner={ownerOf(data)}>
              A ceiling for all tokens of this sub-account: none can do more, whatever its own policy says. Rate and
              quota are shared by all of them.
            </PolicySection>
            <UsageSection of={{ subAccountId: id }} />
            <section>
              <Title order={2} size="h4">
                History
              </Title>
              <HistoryOf subAccount={id} />
            </section>
          </Stack>
        )}
      </QueryResult>
      <SubAccountDialog shown={dialog} close={() => setDialog(undefined)} />
    </>
  )
}

function Buttons({ subAccount, open }: { subAccount: SubAccount; open: (dialog: OpenDialog) => void }) {
  if (!usePermissions().change) return null
  return (
    <Group gap="xs">
      <Button variant="default" onClick={() => open({ kind: 'portal', subAccount })}>
        Portal
      </Button>
      <Button variant="default" onClick={() => open({ kind: 'edit', subAccount })}>
        Edit
      </Button>
      <Button variant="default" onClick={() => open({ kind: 'suspend', subAccount })}>
        {subAccount.status === 'active' ? 'Suspend' : 'Resume'}
      </Button>
    </Group>
  )
}

function AllFacts({ subAccount }: { subAccount: SubAccount }) {
  const { _id, companyName, email, createdAt, metadata } = subAccount
  return (
    <Facts
      isRaised
      facts={[
        ['Id', <CopyableId key="id" id={_id} what="Sub-account id" />],
        ['Company', <Name key="company">{companyName}</Name>],
        ['E-mail', <Name key="email">{email}</Name>],
        ['Status', <SubAccountStatus key="status" subAccount={subAccount} />],
        ['Tokens', <TokenCounts key="tokens" subAccount={subAccount} />],
        ['Created', <Moment key="created" at={createdAt} />],
        ['Metadata', <Metadata key="metadata" value={metadata} />],
      ]}
    />
  )
}

function ownerOf({ _id, name, policy, etag }: SubAccount & { readonly etag: string | undefined }): PolicyOwner {
  return {
    kind: 'sub-account',
    name,
    policy,
    etag,
    send: (client, patch, ifMatch) =>
      client.patchSubAccount({ id: _id, 'if-match': ifMatch, body: { policy: patch as SubAccountPolicy } }),
    preview: (client, patch) => client.previewPolicy({ id: _id, body: { policy: patch as SubAccountPolicy } }),
  }
}
