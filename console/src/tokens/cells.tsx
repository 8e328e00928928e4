// The parts of one token, used by the table and by the cards of narrow screens alike.
import { ActionIcon, Button, Group, Menu, TextInput } from '@mantine/core'
import { type FormEvent, memo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { useChange } from '../changes.ts'
import { Icon } from '../icon.tsx'
import { Link, Name } from '../parts.tsx'
import { reasonOf } from '../problems.ts'
import { tokensHref } from './token-filters.ts'

export type TokenAction = 'rename' | 'status' | 'rotate' | 'history' | 'delete'

export interface RowProps {
  readonly token: Token
  readonly selected: boolean
  readonly onSelect: (token: Token, selected: boolean) => void
  readonly onAction: (action: TokenAction, token: Token) => void
  readonly renaming: boolean
  readonly onRenamed: () => void
}

/** Where focus returns to after a dialog about the token. */
export const actionsId = (token: Token): string => `actions-${token._id}`

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
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        id={`rename-${token._id}`}
        aria-label={`Rename ${token.name}`}
        onClick={() => onAction('rename', token)}
      >
        <Icon name="pencil" size={14} />
      </ActionIcon>
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
        <Button type="submit" size="compact-xs" loading={rename.isPending}>
          Save
        </Button>
        <Button size="compact-xs" variant="default" onClick={onDone}>
          Cancel
        </Button>
      </Group>
    </form>
  )
}

export const TokenActions = memo(function TokenActions({ token, onAction }: Pick<RowProps, 'token' | 'onAction'>) {
  const verb = token.status === 'active' ? 'Disable' : 'Enable'
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Button
        size="compact-xs"
        variant="default"
        id={`status-${token._id}`}
        aria-label={`${verb} ${token.name}`}
        onClick={() => onAction('status', token)}
      >
        {verb}
      </Button>
      <Menu position="bottom-end" withinPortal returnFocus transitionProps={{ duration: 80 }}>
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" id={actionsId(token)} aria-label={`Actions for ${token.name}`}>
            <Icon name="more" size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Icon name="pencil" />} onClick={() => onAction('rename', token)}>
            Rename
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="power" />} onClick={() => onAction('status', token)}>
            {verb}…
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="rotate" />} onClick={() => onAction('rotate', token)}>
            Rotate credential…
          </Menu.Item>
          <Menu.Item leftSection={<Icon name="history" />} onClick={() => onAction('history', token)}>
            History
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item color="red" leftSection={<Icon name="trash" />} onClick={() => onAction('delete', token)}>
            Delete…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </Group>
  )
})
