// The parts of one token, used by the table and by the cards of narrow screens alike.
import { Button, Group, TextInput } from '@mantine/core'
import { type FormEvent, memo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.ts'
import { IconButton, Link, Name } from '../parts.tsx'
import { reasonOf } from '../problems.ts'
import { tokensHref } from './token-filters.ts'

export type TokenAction = 'rename' | 'status' | 'rotate' | 'history' | 'delete'

export interface RowProps {
  readonly token: Token
  readonly selected: boolean
  readonly onSelect: (token: Token, selected: boolean) => void
  readonly onAction: (action: TokenAction, token: Token) => void
  readonly onMenu: (token: Token, button: HTMLElement) => void
  readonly renaming: boolean
  readonly onRenamed: () => void
}

export const Owner = memo(function Owner({ token: { subAccount } }: { token: Token }) {
  return (
    <span className="two-lines">
      <Link href={tokensHref({ subAccount: subAccount._id })} label={`Tokens of ${subAccount.name}`}>
        <Name clip>{subAccount.name}</Name>
      </Link>
      <span className="dim">
        <Name clip>{subAccount.companyName}</Name>
      </span>
    </span>
  )
})

export function TokenName({ token, renaming, onAction, onRenamed }: RowProps) {
  if (renaming) return <Rename token={token} onDone={onRenamed} />
  return (
    <span className="token-name">
      <Name clip>{token.name}</Name>
      <IconButton
        icon="pencil"
        id={`rename-${token._id}`}
        label={`Rename ${token.name}`}
        onClick={() => onAction('rename', token)}
      />
    </span>
  )
}

/** In place: Enter saves, Escape leaves, and the service's reason stands under the field. */
function Rename({ token, onDone }: { token: Token; onDone: () => void }) {
  const [name, setName] = useState(token.name)
  const rename = useChange((client) => client.updateToken({ id: token._id, body: { name } }))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    rename.mutate(undefined, { onSuccess: onDone })
  }
  return (
    <form
      className="rename"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') onDone()
      }}
    >
      <TextInput
        size="xs"
        aria-label={`New name of ${token.name}`}
        autoFocus
        value={name}
        error={rename.error && reasonOf(rename.error)}
        errorProps={{ role: 'alert' }}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Group gap={6}>
        <BusyButton type="submit" size="compact-xs" busy={rename.isPending}>
          Save
        </BusyButton>
        <Button size="compact-xs" variant="default" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  )
}

/** The menu behind the button is one for the whole list: a hundred of them would be slow to draw. */
export const TokenActions = memo(function TokenActions({ token, onAction, onMenu }: ActionProps) {
  const verb = token.status === 'active' ? 'Disable' : 'Enable'
  return (
    <span className="row-actions">
      <button
        type="button"
        className="small-button"
        aria-label={`${verb} ${token.name}`}
        onClick={() => onAction('status', token)}
      >
        {verb}
      </button>
      <IconButton
        icon="more"
        label={`Actions for ${token.name}`}
        expanded={false}
        onClick={(event) => onMenu(token, event.currentTarget)}
      />
    </span>
  )
})

type ActionProps = Pick<RowProps, 'token' | 'onAction' | 'onMenu'>
