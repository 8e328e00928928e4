// One history entry as a sentence: who did what to what. Things are called by their names, or by their ids without one.
import { Fragment, type ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { Name } from '../ui/name.tsx'
import { Moment } from '../ui/time.tsx'

export type Names = Readonly<Record<string, string>>

export function Sentence({ entry, names: present }: { entry: HistoryEntry; names: Names }) {
  const names = { ...present, ...namesThen(entry) }
  return (
    <>
      {who(entry.by, names)} {did(entry, names)}
    </>
  )
}

/** The names at the time of the entry; entries of earlier versions have none. */
function namesThen({ by, byName, subject, subjectName, to }: HistoryEntry): Names {
  const known = [
    [by, byName],
    [subject, subjectName],
    [to.subAccountId, to.subAccountName],
  ]
  return Object.fromEntries(known.filter(([, name]) => typeof name === 'string'))
}

function who(by: string, names: Names): ReactNode {
  if (by === 'operator') return 'The operator'
  if (by.startsWith('key_')) return <>Account key {called(by, names)}</>
  // Somebody whom an identity provider vouches for, such as `jwt:alice`.
  return <Name>{names[by] ?? by.replace(/^[a-z]+:/, '')}</Name>
}

/** The name, else the one in the entry, else the id: what is deleted may have no name any more. */
function called(id: string, names: Names, inEntry?: unknown): ReactNode {
  const name = names[id] ?? inEntry
  return typeof name === 'string' ? <Name>{name}</Name> : <code title="It no longer exists">{id}</code>
}

function did({ action, subject, from, to }: HistoryEntry, names: Names): ReactNode {
  const it = called(subject, names, to.name ?? from.name)
  switch (action) {
    case 'account.create':
      return 'made this account'
    case 'account.rename':
      return (
        <>
          renamed this account from <Name>{String(from.name)}</Name> to <Name>{String(to.name)}</Name>
        </>
      )
    case 'key.create':
      return <>made the account key {it}</>
    case 'key.revoke':
      return <>revoked the account key {it}</>
    case 'session.revoke':
      return <>signed {it} out of the console</>
    case 'sub-account.create':
      return <>created the sub-account {it}</>
    case 'sub-account.update':
      return subAccountUpdate(it, from, to)
    case 'token.create':
      return tokenCreate(it, to, names)
    case 'token.update':
      return tokenUpdate(it, from, to)
    case 'token.rotate':
      return tokenRotate(it, to)
    case 'token.delete':
      return <>deleted the token {it}</>
  }
}

type Fields = HistoryEntry['to']

function tokenCreate(it: ReactNode, to: Fields, names: Names): ReactNode {
  return (
    <>
      created the {to.status === 'inactive' && 'inactive '}token {it}
      {typeof to.subAccountId === 'string' && <> for {called(to.subAccountId, names)}</>}
      {typeof to.expiresAt === 'string' && (
        <>
          , expiring <Moment at={to.expiresAt} />
        </>
      )}
    </>
  )
}

function tokenUpdate(it: ReactNode, from: Fields, to: Fields): ReactNode {
  const parts: ReactNode[] = []
  if (to.status === 'inactive') parts.push(<>disabled the token {it}</>)
  if (to.status === 'active') parts.push(<>enabled the token {it}</>)
  if (to.name !== undefined) parts.push(renamed('token', from.name, to.name))
  if (to.metadata !== undefined) parts.push(<>changed the metadata of {it}</>)
  if (to.expiresAt === null) parts.push(<>removed the expiry of {it}</>)
  if (typeof to.expiresAt === 'string') {
    parts.push(
      <>
        set the expiry of {it} to <Moment at={to.expiresAt} />
      </>,
    )
  }
  return joined(parts.length === 0 ? [<>changed the token {it}</>] : parts)
}

function tokenRotate(it: ReactNode, to: Fields): ReactNode {
  const until = to.formerCredentialUntil
  return (
    <>
      gave the token {it} a new credential;{' '}
      {typeof until === 'string' ? (
        <>
          the former one works until <Moment at={until} />
        </>
      ) : (
        'the former one stopped at once'
      )}
    </>
  )
}

function subAccountUpdate(it: ReactNode, from: Fields, to: Fields): ReactNode {
  const parts: ReactNode[] = []
  if (to.suspendedAt !== undefined) {
    parts.push(
      <>
        {to.suspendedAt === null ? 'resumed' : 'suspended'} the sub-account {it}
      </>,
    )
  }
  if (to.name !== undefined) parts.push(renamed('sub-account', from.name, to.name))
  if (to.companyName !== undefined) {
    parts.push(
      <>
        changed the company of {it} {fromTo(from.companyName, to.companyName)}
      </>,
    )
  }
  if (to.email !== undefined)
    parts.push(
      <>
        changed the e-mail address of {it} {fromTo(from.email, to.email)}
      </>,
    )
  return joined(parts)
}

type Value = Fields[string] | undefined

const renamed = (what: string, from: Value, to: Value): ReactNode => (
  <>
    renamed the {what} {fromTo(from, to)}
  </>
)

const fromTo = (from: Value, to: Value): ReactNode => (
  <>
    from <Name>{String(from)}</Name> to <Name>{String(to)}</Name>
  </>
)

function joined(parts: readonly ReactNode[]): ReactNode {
  return parts.map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one sentence never move
    <Fragment key={index}>
      {index > 0 && ' and '}
      {part}
    </Fragment>
  ))
}
