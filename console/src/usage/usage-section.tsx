// How much a token, or all tokens of a sub-account, were used: bars with a sentence and a table that say the same.
import { Group, NativeSelect, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Usage } from '../../../client/latchkey-client.ts'
import { queries, type UsageOf } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { moment, number, plural, utcDay } from '../ui/format.ts'
import { QueryResult } from '../ui/query-result.tsx'
import surface from '../ui/surface.module.css'
import table from '../ui/table.module.css'
import classes from './usage.module.css'

type Bucket = Usage['buckets'][number]
type Per = Usage['per']

const SPANS: Readonly<Record<Per, string>> = { day: 'Last 30 days', hour: 'Last 24 hours' }

export function UsageSection({ of }: { of: UsageOf }) {
  const titleId = useId()
  const [per, setPer] = useState<Per>('day')
  const usage = useQuery(queries.usage(useClient(), of, per))
  return (
    <section aria-labelledby={titleId}>
      <Group justify="space-between" mb={8}>
        <Title order={2} size="h4" id={titleId}>
          Use
        </Title>
        <NativeSelect
          size="xs"
          aria-label="Time of use"
          value={per}
          data={Object.entries(SPANS).map(([value, label]) => ({ value, label }))}
          onChange={({ currentTarget: { value } }) => setPer(value === 'hour' ? 'hour' : 'day')}
        />
      </Group>
      <QueryResult query={usage} what="its use" rows={2}>
        {({ buckets }) => <Chart buckets={buckets} per={per} />}
      </QueryResult>
    </section>
  )
}

const refusedOf = ({ refused }: Bucket): number => Object.values(refused).reduce((sum, count) => sum + count, 0)

function Chart({ buckets, per }: { buckets: readonly Bucket[]; per: Per }) {
  const summary = summaryOf(buckets)
  const timeOf = (from: string) => (per === 'day' ? utcDay(from) : moment(from))
  const used = buckets.filter((bucket) => bucket.accepted + refusedOf(bucket) > 0)
  return (
    <div className={surface.raised}>
      <Text size="sm" px={14} pt={12}>
        {summary}
      </Text>
      <Bars buckets={buckets} />
      {used.length > 0 && (
        <details className={classes.details}>
          <summary>As a table</summary>
          <table className={table.table}>
            <thead>
              <tr>
                <th>{per === 'day' ? 'Day, in UTC' : 'Hour from'}</th>
                <th>Accepted</th>
                <th>Refused</th>
              </tr>
            </thead>
            <tbody>
              {used.toReversed().map((bucket) => (
                <tr key={bucket.from}>
                  <td>{timeOf(bucket.from)}</td>
                  <td>{number(bucket.accepted)}</td>
                  <td>{refusedOf(bucket) === 0 ? '0' : reasonsOf([bucket])}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </details>
      )}
    </div>
  )
}

const HEIGHT = 100
const GAP = 0.2
/** So that one use among thousands is seen. */
const LEAST = 2

/** One bar for each bucket, what was refused on top of what was accepted. */
function Bars({ buckets }: { buckets: readonly Bucket[] }) {
  const most = Math.max(1, ...buckets.map((bucket) => bucket.accepted + refusedOf(bucket)))
  const height = (count: number) => (count === 0 ? 0 : Math.max(LEAST, (count / most) * HEIGHT))
  return (
    <svg
      className={classes.bars}
      viewBox={`0 0 ${buckets.length} ${HEIGHT + LEAST}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {buckets.map((bucket, at) => {
        const [accepted, refused] = [height(bucket.accepted), height(refusedOf(bucket))]
        const place = { x: at + GAP / 2, width: 1 - GAP }
        return (
          <g key={bucket.from}>
            <rect {...place} y={HEIGHT} height={1} className={classes.base} />
            <rect {...place} y={HEIGHT - accepted} height={accepted} className={classes.accepted} />
            <rect {...place} y={HEIGHT - accepted - refused} height={refused} className={classes.refused} />
          </g>
        )
      })}
    </svg>
  )
}

function summaryOf(buckets: readonly Bucket[]): string {
  const accepted = buckets.reduce((sum, bucket) => sum + bucket.accepted, 0)
  const refused = buckets.reduce((sum, bucket) => sum + refusedOf(bucket), 0)
  if (accepted + refused === 0) return 'Not used in this time.'
  const reasons = refused === 0 ? 'none refused' : `${number(refused)} refused: ${reasonsOf(buckets)}`
  return `${plural(accepted, 'verification')} accepted, ${reasons}.`
}

type Reason = keyof Bucket['refused']

const REASONS: Readonly<Record<Reason, string>> = {
  inactive: 'disabled',
  expired: 'expired',
  suspended: 'sub-account suspended',
  address: 'address',
  scope: 'scope',
  rate: 'rate',
  quota: 'quota',
}

function reasonsOf(buckets: readonly Bucket[]): string {
  const counts = (Object.keys(REASONS) as Reason[]).map(
    (reason) => [reason, buckets.reduce((sum, { refused }) => sum + refused[reason], 0)] as const,
  )
  const some = counts.filter(([, count]) => count > 0)
  return some.map(([reason, count]) => `${number(count)} ${REASONS[reason]}`).join(', ')
}
