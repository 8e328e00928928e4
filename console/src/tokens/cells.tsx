// The parts of one token, used by the table and by the cards of narrow screens alike.
import { Button, Group, TextInput } from '@mantine/core'
import { type FormEvent, memo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { BusyButton } from '../busy-button.tsx'
import { useChange } from '../changes.tsx'
import { Credential } from '../credential.tsx'
import { IconButton, Link, Moment, Name, Outcome, useNow } from '../parts.tsx'
import { fieldProblem, reasonOf } from '../problems.ts'
import { useToast } from '../toasts.tsx'
import { tokensHref } from './token-filters.ts'

export type TokenAction = 'rename' | 'status' | 'rotate' | 'history' | 'copy-id' | 'delete'

export interface RowProps {
  readonly token: Token
  readonly selected: boolean
  readonly onSelect: (token: Token, selected: boolean) => void
  readonly onAction: (action: TokenAction, token: Token) => void
  readonly onMenu: (token: Token, button: HTMLElement) => void
  readonly renaming: boolean
  readonly onRenamed: (token: Token) => void
}

/** For labels, which are heard without the row around them: tokens of two sub-accounts may have one name. */
export const fullName = ({ name, subAccount }: Token): string => `${name} of ${subAccount.name}`

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
        label={`Rename ${fullName(token)}`}
        onClick={() => onAction('rename', token)}
      />
    </span>
  )
}

/** In place: Enter saves, Escape leaves, and the service's reason stands under the field. */
function Rename({ token, onDone }: { token: Token; onDone: (token: Token) => void }) {
  const toast = useToast()
  // As it was when asked for: what is read again meanwhile may bring the name that somebody else gave it.
  const [former] = useState(token.name)
  const [name, setName] = useState(former)
  const rename = useChange(
    'token',
    former,
    (client) => client.updateToken({ id: token._id, body: { name } }),
    (renamed) => {
      // The row itself may be gone: it need not match the filter any more.
      toast({
        text: (
          <>
            <Outcome name={former} what="is now called" /> <Name>{renamed.name}</Name>
          </>
        ),
      })
      onDone(token)
    },
  )
  const leave = () => {
    if (!rename.isPending) onDone(token)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (name.trim() === former) leave()
    else rename.mutate()
  }
  return (
    <form
      className="rename"
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave()
      }}
    >
      <TextInput
        size="xs"
        aria-label={`New name of ${former}`}
        autoFocus
        value={name}
        error={rename.error && (fieldProblem(rename.error, 'name', 'Name') ?? reasonOf(rename.error))}
        errorProps={{ role: 'alert' }}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Group gap={6}>
        <BusyButton type="submit" size="compact-xs" busy={rename.isPending}>
          Save
        </BusyButton>
        <Button size="compact-xs" variant="default" aria-disabled={rename.isPending} onClick={leave}>
          Cancel
        </Button>
      </Group>
    </form>
  )
}

/** A credential that the service cannot open is empty (`details.credentialUnreadable`). */
export const isUnreadable = ({ token }: Token): boolean => token === ''

export function TokenCredential({ token }: { token: Token }) {
  if (isUnreadable(token)) {
    return (
      <span className="two-lines" title="The service cannot decrypt it. Rotating gives the token a new credential.">
        <span className="unreadable">Cannot be read</span>
        <span className="dim">Rotate it to get a new one</span>
      </span>
    )
  }
  return (
    <span className="two-lines">
      <Credential value={token.token} of={fullName(token)} />
      <FormerCredential token={token} />
    </span>
  )
}

/** Shown while a rotated-out credential still authenticates. */
function FormerCredential({ token }: { token: Token }) {
  const now = useNow()
  const until = token.details?.formerCredentialUntil ?? null
  if (until === null || Date.parse(until) <= now) return null
  return (
    <span className="former" title="The credential from before the last rotation still authenticates">
      Former one works until <Moment at={until} />
    </span>
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
        aria-label={`${verb} ${fullName(token)}`}
        onClick={() => onAction('status', token)}
      >
        {verb}
      </button>
      <IconButton
        icon="more"
        label={`Actions for ${fullName(token)}`}
        expanded={false}
        onClick={(event) => onMenu(token, event.currentTarget)}
      />
    </span>
  )
})

type ActionProps = Pick<RowProps, 'token' | 'onAction' | 'onMenu'>
