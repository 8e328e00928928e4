// The account at a glance. Every figure and every bar leads to the tokens it counts.
import { Paper, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { Overview } from '../../client/latchkey-client.ts'
import { hrefOf } from './address.ts'
import { Link, type Mark, Name } from './parts.tsx'
import { QUERY_KEYS } from './query-keys.ts'
import { useClient } from './session.tsx'
import { QueryResult } from './states.tsx'
import { type TokenFilters, tokensHref } from './tokens/token-filters.ts'
import { ViewTitle } from './view-title.tsx'
import { number, plural, utcDay } from './words.ts'

export function useOverview() {
  const client = useClient()
  return useQuery({ queryKey: QUERY_KEYS.overview, queryFn: ({ signal }) => client.getOverview({}, { signal }) })
}

export function OverviewView() {
  const overview = useOverview()
  return (
    <>
      <ViewTitle>Overview</ViewTitle>
      <QueryResult query={overview} what="the overview">
        {(data) => (
          <div className="overview">
            <Figures overview={data} />
            <ByStatus tokens={data.tokens} />
            <ByWeek weeks={data.createdByWeek} />
            <BySubAccount subAccounts={data.subAccounts} />
          </div>
        )}
      </QueryResult>
    </>
  )
}

function Figures({ overview: { tokens, subAccounts } }: { overview: Overview }) {
  const figures: readonly (readonly [string, number, string, boolean])[] = [
    ['Tokens', tokens.active + tokens.inactive, tokensHref({}), false],
    ['Never used', tokens.neverUsed, tokensHref({ used: 'never' }), false],
    ['Expiring within 30 days', tokens.expiringSoon, tokensHref({ status: 'active', expiry: 'soon' }), true],
    ['Expired, still active', tokens.expired, tokensHref({ status: 'active', expiry: 'expired' }), true],
    ['Sub-accounts', subAccounts.total, hrefOf('sub-accounts'), false],
  ]
  return (
    <ul className="figures">
      {figures.map(([label, value, href, warns]) => (
        <li key={label}>
          <Link href={href} className={warns && value > 0 ? 'figure figure-warning' : 'figure'}>
            <span className="figure-value">{number(value)}</span>
            <span className="figure-label">{label}</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

function Panel({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <Paper withBorder p="lg" component="section" className="panel">
      <h2>{title}</h2>
      {note !== undefined && (
        <Text size="sm" className="dim" mb="sm">
          {note}
        </Text>
      )}
      {children}
    </Paper>
  )
}

interface StatusPart {
  readonly mark: Mark
  readonly count: number
  readonly filters: TokenFilters
}

/** Parts that exclude each other and add up to all tokens. */
function statusParts(tokens: Overview['tokens']): readonly StatusPart[] {
  const { active, inactive, expired, suspended } = tokens
  const off: StatusPart = { mark: 'inactive', count: inactive, filters: { status: 'inactive' } }
  return [
    { mark: 'active', count: active - expired - suspended, filters: { effectiveStatus: 'active' } },
    { mark: 'suspended', count: suspended, filters: { effectiveStatus: 'suspended' } },
    { mark: 'expired', count: expired, filters: { effectiveStatus: 'expired' } },
    off,
  ]
}

function ByStatus({ tokens }: { tokens: Overview['tokens'] }) {
  const total = tokens.active + tokens.inactive
  const parts = statusParts(tokens)
  return (
    <Panel title="By status">
      <div className="by-status">
        <Ring parts={parts} total={total} />
        <ul className="legend">
          {parts.map(({ mark, count, filters }) => (
            <li key={mark}>
              <Link href={tokensHref(filters)} label={plural(count, `${mark} token`)}>
                <span className={`dot fill-${mark}`} />
                <b>{number(count)}</b> {mark}
              </Link>
              <span className="dim">{total === 0 ? '' : share(count, total)}</span>
            </li>
          ))}
        </ul>
      </div>
    </Panel>
  )
}

function share(count: number, total: number): string {
  return `${Math.round((count / total) * 100)}%`
}

const RING = { radius: 42, width: 16, gap: 2, least: 0.5 }

/** One arc for each part; the legend beside it says the same in words. */
function Ring({ parts, total }: { parts: readonly StatusPart[]; total: number }) {
  const { radius, width, gap, least } = RING
  const circle = { cx: 50, cy: 50, r: radius, fill: 'none', strokeWidth: width, pathLength: 100 }
  const drawn = parts.filter(({ count }) => count > 0)
  const space = drawn.length > 1 ? gap : 0
  let before = 0
  const arcs = drawn.map(({ mark, count }) => {
    const start = (before / total) * 100
    before += count
    return { mark, start: start + space / 2, length: Math.max(least, (count / total) * 100 - space) }
  })
  return (
    <svg className="ring" viewBox="0 0 100 100" aria-hidden="true">
      {total === 0 && <circle {...circle} className="fill-inactive" />}
      {arcs.map(({ mark, start, length }) => (
        <circle
          key={mark}
          {...circle}
          className={`fill-${mark}`}
          strokeDasharray={`${length} 100`}
          strokeDashoffset={-start}
        />
      ))}
    </svg>
  )
}

function ByWeek({ weeks }: { weeks: Overview['createdByWeek'] }) {
  const most = Math.max(1, ...weeks.map(({ count }) => count))
  const total = weeks.reduce((sum, { count }) => sum + count, 0)
  return (
    <Panel title="Created by week" note={`${plural(total, 'token')} in the last ${weeks.length} weeks`}>
      <ol className="weeks">
        {weeks.map(({ from, before, count }, index) => (
          <li key={from}>
            <Link
              href={tokensHref({ createdFrom: from, createdBefore: before })}
              label={`${plural(count, 'token')} created in the week of ${utcDay(from)}`}
              className="week"
            >
              <span className="week-count">{count > 0 ? number(count) : ''}</span>
              <span className="bar" style={{ height: `${(count / most) * 100}%` }} />
            </Link>
            <span className="week-day dim" aria-hidden="true">
              {index % 4 === 0 || index === weeks.length - 1 ? utcDay(from).replace(/ \d{4}$/, '') : ''}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function BySubAccount({ subAccounts }: { subAccounts: Overview['subAccounts'] }) {
  const { largest, total, suspended } = subAccounts
  const most = Math.max(1, ...largest.map(({ tokens }) => tokens.active + tokens.inactive))
  const note = `${plural(total, 'sub-account')}${suspended > 0 ? `, ${number(suspended)} suspended` : ''}`
  return (
    <Panel title="By sub-account" note={largest.length < total ? `The largest of ${note}` : note}>
      <ul className="owners">
        {largest.map(({ _id, name, status, tokens }) => {
          const filters: TokenFilters = { subAccount: _id }
          const count = tokens.active + tokens.inactive
          return (
            <li key={_id}>
              <Link href={tokensHref(filters)} className="owner">
                <span className="owner-name">
                  <Name clip>{name}</Name>
                  {status === 'suspended' && <span className="status status-suspended">Suspended</span>}
                </span>
                <span className="owner-count">
                  {number(count)}
                  <span className="sr-only">
                    {' '}
                    tokens: {number(tokens.active)} active, {number(tokens.inactive)} inactive
                  </span>
                </span>
                <span className="owner-bar" style={{ width: `${(count / most) * 100}%` }}>
                  <span className="fill fill-active" style={{ flexGrow: tokens.active }} />
                  <span className="fill fill-inactive" style={{ flexGrow: tokens.inactive }} />
                </span>
              </Link>
            </li>
          )
        })}
      </ul>
    </Panel>
  )
}
