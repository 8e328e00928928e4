// The tokens of one page: a table where there is room, cards where there is not.
import { Checkbox, Table } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { memo } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { Credential } from '../credential.tsx'
import { markOf, StatusMark, When } from '../parts.tsx'
import { Owner, type RowProps, TokenActions, TokenName } from './cells.tsx'

interface TokenListProps extends Pick<RowProps, 'onSelect' | 'onAction' | 'onRenamed'> {
  readonly tokens: readonly Token[]
  readonly selected: ReadonlyMap<string, Token>
  readonly onSelectAll: (selected: boolean) => void
  readonly renaming: string | undefined
  readonly stale: boolean
}

export function TokenList({ tokens, selected, onSelectAll, renaming, stale, ...handlers }: TokenListProps) {
  const narrow = useMediaQuery('(max-width: 68em)', false, { getInitialValueInEffect: false })
  const chosen = tokens.filter(({ _id }) => selected.has(_id)).length
  const all = (
    <Checkbox
      size="xs"
      aria-label="Select all on this page"
      label={narrow ? 'Select all on this page' : undefined}
      checked={tokens.length > 0 && chosen === tokens.length}
      indeterminate={chosen > 0 && chosen < tokens.length}
      onChange={(event) => onSelectAll(event.currentTarget.checked)}
    />
  )
  const rows = tokens.map((token) => {
    const row = { ...handlers, token, selected: selected.has(token._id), renaming: renaming === token._id }
    return narrow ? <TokenCard key={token._id} {...row} /> : <TokenRow key={token._id} {...row} />
  })
  if (narrow) {
    return (
      <section aria-label="Tokens" aria-busy={stale} className={stale ? 'stale-rows' : ''}>
        <div className="select-all">{all}</div>
        <ul className="cards">{rows}</ul>
      </section>
    )
  }
  return (
    <Table.ScrollContainer minWidth={1000} type="native">
      <Table aria-label="Tokens" aria-busy={stale} className={stale ? 'tokens stale-rows' : 'tokens'} highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th className="check">{all}</Table.Th>
            <Table.Th>Name</Table.Th>
            <Table.Th>Sub-account</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Credential</Table.Th>
            <Table.Th>Created</Table.Th>
            <Table.Th>Last used</Table.Th>
            <Table.Th>Expires</Table.Th>
            <Table.Th className="actions">
              <span className="sr-only">Actions</span>
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{rows}</Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

const TokenRow = memo(function TokenRow(row: RowProps) {
  const { token, selected, onAction } = row
  return (
    <Table.Tr data-token={token._id} className={selected ? 'selected' : ''}>
      <Table.Td className="check">
        <Select {...row} />
      </Table.Td>
      <Table.Td>
        <TokenName {...row} />
      </Table.Td>
      <Table.Td>
        <Owner token={token} />
      </Table.Td>
      <Table.Td>
        <StatusMark mark={markOf(token)} />
      </Table.Td>
      <Table.Td>
        <Credential value={token.token} of={token.name} />
      </Table.Td>
      <Table.Td className="time">
        <When at={token.createdAt} />
      </Table.Td>
      <Table.Td className="time">
        <When at={token.details?.lastUsedAt ?? null} none="Never" />
      </Table.Td>
      <Table.Td className="time">
        <When at={token.details?.expiresAt ?? null} none="Never" />
      </Table.Td>
      <Table.Td className="actions">
        <TokenActions token={token} onAction={onAction} />
      </Table.Td>
    </Table.Tr>
  )
})

const TokenCard = memo(function TokenCard(row: RowProps) {
  const { token, onAction } = row
  return (
    <li className="card" data-token={token._id}>
      <div className="card-head">
        <Select {...row} />
        <TokenName {...row} />
        <StatusMark mark={markOf(token)} />
      </div>
      <Owner token={token} />
      <Credential value={token.token} of={token.name} />
      <dl className="card-facts">
        <div>
          <dt>Created</dt>
          <dd>
            <When at={token.createdAt} />
          </dd>
        </div>
        <div>
          <dt>Last used</dt>
          <dd>
            <When at={token.details?.lastUsedAt ?? null} none="Never" />
          </dd>
        </div>
        <div>
          <dt>Expires</dt>
          <dd>
            <When at={token.details?.expiresAt ?? null} none="Never" />
          </dd>
        </div>
      </dl>
      <TokenActions token={token} onAction={onAction} />
    </li>
  )
})

function Select({ token, selected, onSelect }: RowProps) {
  return (
    <Checkbox
      size="xs"
      aria-label={`Select ${token.name}`}
      checked={selected}
      onChange={(event) => onSelect(token, event.currentTarget.checked)}
    />
  )
}
