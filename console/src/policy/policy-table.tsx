// A policy in words; a token's next to its sub-account's, with what the two together allow.
import { Stack, Text, Title } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { ReactNode } from 'react'
import chip from '../ui/chip.module.css'
import { Chips } from '../ui/chips.tsx'
import { cx } from '../ui/cx.ts'
import { Facts } from '../ui/facts.tsx'
import surface from '../ui/surface.module.css'
import table from '../ui/table.module.css'
import text from '../ui/text.module.css'
import { Moment } from '../ui/time.tsx'
import { allowanceOf, inEffect, isTighterQuota, isTighterRate, type ListMember } from './ceiling.ts'
import { LABELS, type Member } from './policy-fields.ts'
import classes from './policy-table.module.css'
import { capitalized, lifetimeWords, type Policy, quotaWords, rateWords } from './words.ts'

/** The policy of the sub-account that a token belongs to. */
export interface Ceiling {
  readonly policy: Policy
  /** Of the token. */
  readonly createdAt: string
}

interface Row {
  readonly member: Member
  /** One for each header. */
  readonly cells: readonly ReactNode[]
}

interface PolicyTableProps {
  readonly policy: Policy
  readonly withLifetime: boolean
  /** Undefined where no other policy holds too. */
  readonly ceiling: Ceiling | undefined
}

export function PolicyTable({ policy, withLifetime, ceiling }: PolicyTableProps) {
  const rows = ceiling === undefined ? ownRows(policy, withLifetime) : rowsUnder(policy, ceiling)
  const headers = ceiling === undefined ? ['Policy'] : ['This token', 'Its sub-account', 'In effect']
  const isNarrow = useMediaQuery('(max-width: 48em)', false, { getInitialValueInEffect: false })
  if (isNarrow && ceiling === undefined) {
    return <Facts isRaised facts={rows.map(({ member, cells: [cell] }) => [LABELS[member], cell])} />
  }
  if (isNarrow) {
    return (
      <Stack gap={12}>
        {rows.map(({ member, cells }) => (
          <section key={member} aria-label={LABELS[member]} data-member={member}>
            <Title order={3} size="sm" mb={4}>
              {LABELS[member]}
            </Title>
            <Facts isRaised facts={cells.map((cell, at) => [headers[at] ?? '', cell])} />
          </section>
        ))}
      </Stack>
    )
  }
  return (
    <table className={cx(surface.raised, table.table, classes.policy)} aria-label="Policy">
      {headers.length > 1 && (
        <thead>
          <tr>
            <td />
            {headers.map((header) => (
              <th key={header} scope="col">
                {header}
              </th>
            ))}
          </tr>
        </thead>
      )}
      <tbody>
        {rows.map(({ member, cells }) => (
          <tr key={member} data-member={member}>
            <th scope="row">{LABELS[member]}</th>
            {cells.map((cell, index) => (
              <td key={headers[index]}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function ownRows(
  { scopes, addresses, rate, quota, maxLifetimeSeconds }: Policy,
  withLifetime: boolean,
): readonly Row[] {
  const rows: Row[] = [
    { member: 'scopes', cells: [<Listed key="own" list={scopes} member="scopes" />] },
    { member: 'addresses', cells: [<Listed key="own" list={addresses} member="addresses" />] },
    { member: 'rate', cells: [limitCell(rate, rateWords)] },
    { member: 'quota', cells: [limitCell(quota, quotaWords)] },
  ]
  if (withLifetime) rows.push({ member: 'maxLifetimeSeconds', cells: [limitCell(maxLifetimeSeconds, lifetimeWords)] })
  return rows
}

function rowsUnder(own: Policy, { policy: ceiling, createdAt }: Ceiling): readonly Row[] {
  const rows: Row[] = [
    listRow('scopes', own, ceiling),
    listRow('addresses', own, ceiling),
    { member: 'rate', cells: limitCells(own.rate, ceiling.rate, rateWords, isTighterRate) },
    { member: 'quota', cells: limitCells(own.quota, ceiling.quota, quotaWords, isTighterQuota) },
  ]
  const lifetime = ceiling.maxLifetimeSeconds
  if (lifetime === undefined) return rows
  const end = new Date(Date.parse(createdAt) + lifetime * 1_000).toISOString()
  const cells = [
    <span key="own" className={text.dim}>
      As its expiry says
    </span>,
    limitCell(lifetime, lifetimeWords),
    <>
      Ends <Moment at={end} /> at the latest
    </>,
  ]
  return [...rows, { member: 'maxLifetimeSeconds', cells }]
}

function listRow(member: ListMember, { [member]: own }: Policy, { [member]: ceiling }: Policy): Row {
  return {
    member,
    cells: [
      <Listed key="own" list={own} member={member} ceiling={ceiling} />,
      <Listed key="ceiling" list={ceiling} member={member} />,
      <Listed key="effect" list={inEffect(member, own, ceiling)} member={member} />,
    ],
  }
}

function limitCell<Limit>(limit: Limit | undefined, words: (limit: Limit) => string, note?: string): ReactNode {
  if (limit === undefined) return <NotRestricted />
  return (
    <>
      {capitalized(words(limit))}
      {note !== undefined && <span className={text.dim}>, {note}</span>}
    </>
  )
}

/** The sub-account's limit holds however wide it is: its other tokens may use it up. The token's own only if it is narrower. */
function limitCells<Limit>(
  own: Limit | undefined,
  ceiling: Limit | undefined,
  words: (limit: Limit) => string,
  isTighter: (one: Limit, other: Limit) => boolean,
): readonly ReactNode[] {
  const each = [limitCell(own, words), limitCell(ceiling, words, 'shared by all its tokens')]
  if (ceiling === undefined) return [...each, limitCell(own, words)]
  const isOwnInEffect = own !== undefined && !isTighter(ceiling, own)
  const effect = isOwnInEffect ? `${words(own)}, and ${words(ceiling)}` : words(ceiling)
  return [...each, limitCell(effect, String, 'shared by all tokens of the sub-account')]
}

const NotRestricted = () => <span className={text.dim}>Not restricted</span>

interface ListedProps {
  readonly list: readonly string[] | undefined
  readonly member: ListMember
  /** What it does not allow is struck through. */
  readonly ceiling?: readonly string[] | undefined
}

const NONE = { scopes: 'No scope at all', addresses: 'From nowhere' }

function Listed({ list, member, ceiling }: ListedProps) {
  if (list === undefined) return <NotRestricted />
  if (list.length === 0) {
    return (
      <Text span inherit c="var(--color-warning)">
        {NONE[member]}
      </Text>
    )
  }
  return (
    <Chips>
      {list.map((each) => (
        <li key={each}>
          <ListedOne each={each} allowance={allowanceOf(member, each, ceiling)} />
        </li>
      ))}
    </Chips>
  )
}

export const NOT_ALLOWED = 'not allowed by the sub-account'

const Note = ({ children }: { children: string }) => (
  <Text span size="xs" c="var(--color-warning)">
    {children}
  </Text>
)

function ListedOne({ each, allowance }: { each: string; allowance: 'all' | 'part' | 'none' }) {
  const code = <code>{each}</code>
  if (allowance === 'all') return <span className={chip.chip}>{code}</span>
  if (allowance === 'part') {
    return (
      <>
        <span className={chip.chip}>{code}</span> <Note>allowed in part by the sub-account</Note>
      </>
    )
  }
  return (
    <>
      <s className={cx(chip.chip, chip.struck)}>{code}</s> <Note>{NOT_ALLOWED}</Note>
    </>
  )
}
