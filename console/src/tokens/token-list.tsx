// The tokens of one page: a table where there is room, cards where there is not.
import { useMediaQuery } from '@mantine/hooks'
import { memo } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { markOf, StatusMark, When } from '../parts.tsx'
import { keepFocusOnRemoval } from '../view-title.tsx'
import { fullName, Owner, type RowProps, TokenActions, TokenCredential, TokenName } from './cells.tsx'

interface TokenListProps extends Pick<RowProps, 'onSelect' | 'onAction' | 'onMenu' | 'onRenamed'> {
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
    <label className="check-box">
      <input
        type="checkbox"
        aria-label="Select all on this page"
        checked={tokens.length > 0 && chosen === tokens.length}
        ref={(box) => {
          if (box !== null) box.indeterminate = chosen > 0 && chosen < tokens.length
        }}
        onChange={(event) => onSelectAll(event.currentTarget.checked)}
      />
      {narrow && 'Select all on this page'}
    </label>
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
    <div className="table-scroll">
      <table aria-label="Tokens" aria-busy={stale} className={stale ? 'tokens stale-rows' : 'tokens'}>
        <thead>
          <tr>
            <th className="check">{all}</th>
            <th>Name</th>
            <th>Sub-account</th>
            <th>Status</th>
            <th>Credential</th>
            <th>Created</th>
            <th>Last used</th>
            <th>Expires</th>
            <th className="actions">
              <span className="sr-only">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>{rows}</tbody>
      </table>
    </div>
  )
}

const TokenRow = memo(function TokenRow(row: RowProps) {
  const { token, selected, onAction, onMenu } = row
  return (
    <tr ref={keepFocusOnRemoval} data-token={token._id} className={selected ? 'selected' : ''}>
      <td className="check">
        <Select {...row} />
      </td>
      <td>
        <TokenName {...row} />
      </td>
      <td>
        <Owner token={token} />
      </td>
      <td>
        <StatusMark mark={markOf(token)} />
      </td>
      <td>
        <TokenCredential token={token} />
      </td>
      <td className="time">
        <When at={token.createdAt} />
      </td>
      <td className="time">
        <When at={token.details?.lastUsedAt ?? null} none="Never" />
      </td>
      <td className="time">
        <When at={token.details?.expiresAt ?? null} none="Never" />
      </td>
      <td className="actions">
        <TokenActions token={token} onAction={onAction} onMenu={onMenu} />
      </td>
    </tr>
  )
})

const TokenCard = memo(function TokenCard(row: RowProps) {
  const { token, selected, onAction, onMenu } = row
  return (
    <li ref={keepFocusOnRemoval} className={selected ? 'card selected' : 'card'} data-token={token._id}>
      <div className="card-head">
        <Select {...row} />
        <TokenName {...row} />
        <StatusMark mark={markOf(token)} />
      </div>
      <Owner token={token} />
      <TokenCredential token={token} />
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
      <TokenActions token={token} onAction={onAction} onMenu={onMenu} />
    </li>
  )
})

function Select({ token, selected, onSelect }: RowProps) {
  return (
    <label className="check-box">
      <input
        type="checkbox"
        aria-label={`Select ${fullName(token)}`}
        checked={selected}
        onChange={(event) => onSelect(token, event.currentTarget.checked)}
      />
    </label>
  )
}
