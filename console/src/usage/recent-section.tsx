// Why a token was refused lately, and from where it is used.
import { Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId } from 'react'
import type { RecentVerifications } from '../../../client/latchkey-client.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { QueryResult } from '../ui/query-result.tsx'
import surface from '../ui/surface.module.css'
import text from '../ui/text.module.css'
import { RelativeTime } from '../ui/time.tsx'

type Refused = RecentVerifications['refused'][number]

export function RecentSection({ tokenId }: { tokenId: string }) {
  const recent = useQuery(queries.recentVerifications(useClient(), tokenId))
  return (
    <QueryResult query={recent} what="its last verifications" rows={2}>
      {({ accepted, refused }) => (
        <>
          <Lines title="Recent refusals" none="It was not refused in the last 90 days.">
            {refused.map(({ reason, address, at }) => (
              <li key={`${reason} ${address}`}>
                Refused <RelativeTime at={at} />
                {address !== null && ` from ${address}`}: {REASONS[reason]}
              </li>
            ))}
          </Lines>
          <Lines title="Recent addresses" none="It was not used in the last 90 days.">
            {accepted.map(({ address, at }) => (
              <li key={address}>
                {address ?? 'An address that is not known'},{' '}
                <span className={text.dim}>
                  last used <RelativeTime at={at} />
                </span>
              </li>
            ))}
          </Lines>
        </>
      )}
    </QueryResult>
  )
}

function Lines({ title, none, children }: { title: string; none: string; children: readonly ReactNode[] }) {
  const titleId = useId()
  return (
    <section aria-labelledby={titleId}>
      <Title order={2} size="h4" mb={8} id={titleId}>
        {title}
      </Title>
      <Text component="div" size="sm" px={14} py={12} className={surface.raised} style={{ overflowWrap: 'anywhere' }}>
        {children.length === 0 ? (
          none
        ) : (
          <Stack component="ul" gap={6}>
            {children}
          </Stack>
        )}
      </Text>
    </section>
  )
}

/** As it was then: what the policy or the status is now may be another. */
const REASONS: Readonly<Record<Refused['reason'], string>> = {
  inactive: 'it was disabled',
  expired: 'its credential had expired',
  suspended: 'its sub-account was suspended',
  address: 'its address was not allowed',
  scope: 'it did not have the scope that was needed',
  rate: 'its rate was used up',
  quota: 'its quota was used up',
}
