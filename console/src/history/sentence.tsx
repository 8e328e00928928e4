// A history entry, or what one bulk operation did, as a sentence: who did what to what.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { actionOf } from './actions.tsx'
import { type EntryGroup, type Operation, operationOf } from './grouping.ts'
import { called, type Known, linkTo, type Names, operationLink, portalActor } from './wording.tsx'

/** Who is neither an account key nor a person; the service announces by itself that a token expires. */
const OTHERS: Names = { operator: 'The operator', service: 'The service', 'leak:report': 'A leak report' }

/** Whom an identity provider vouches for is `jwt:alice`, and called alice without another name. */
export function actorName(by: string, name?: string | null): string {
  if (by.startsWith('portal:')) return portalActor(by)
  return OTHERS[by] ?? name ?? by.replace(/^[a-z]+:/, '')
}

interface Present {
  /** Of what exists now. */
  readonly names: Names
  /** What the page is about needs no link. */
  readonly ownId: string | undefined
}

interface SentenceProps extends Present {
  readonly entry: HistoryEntry
  /** Under a sentence that names the bulk operation. */
  readonly isInGroup?: boolean
}

export function Sentence({ entry, names: present, ownId, isInGroup = false }: SentenceProps) {
  const names = { ...present, ...namesThen(entry) }
  const known = { names, isLinked: (id: string) => id in present && id !== ownId }
  const it = named(entry, known, ownId)
  const again = called(entry.subject, { names, isLinked: () => false }, entry.to.name ?? entry.from.name)
  const operation = isInGroup ? undefined : operationOf(entry)
  const what = actionOf(entry.action).sentence({ it, again, entry, known })
  const why = operation ? inOperation(operation) : !isInGroup && because(entry.to.reason)
  return say`${who(entry.by, known)} ${what}${why}`
}

/** Such as “leaked”. */
const because = (reason: unknown): ReactNode => typeof reason === 'string' && say`: “${<Name>{reason}</Name>}”`

const DEEDS: Readonly<Record<Operation['deed'], (tokens: ReactNode) => ReactNode>> = {
  deleted: (tokens) => say`deleted ${tokens}`,
  disabled: (tokens) => say`disabled ${tokens}`,
  enabled: (tokens) => say`enabled ${tokens}`,
  expired: (tokens) => say`let ${tokens} expire`,
  restored: (tokens) => say`gave ${tokens} their former expiry again`,
  changed: (tokens) => say`changed ${tokens}`,
}

/** How many tokens the operation has changed is known only where none of its entries can be on another page. */
export function GroupSentence({ group, names: present, ownId }: Present & { readonly group: EntryGroup }) {
  const { entries, mayGoOn } = group
  const [entry] = entries
  const operation = operationOf(entry)
  if (operation === undefined) return null
  const known = { names: { ...present, ...namesThen(entry) }, isLinked: () => false }
  const tokens = say`${mayGoOn ? 'tokens' : plural(entries.length, 'token')}${ownId === undefined && ofOne(entries)}`
  const here = mayGoOn && `; ${entries.length} of them are on this page`
  return say`${who(entry.by, known)} ${DEEDS[operation.deed](tokens)}${inOperation(operation)}${here}`
}

/** The sub-account, if all tokens are of the same one. */
function ofOne(entries: EntryGroup['entries']): ReactNode {
  const [{ subAccount }] = entries
  const isOne = entries.every((entry) => entry.subAccount?._id === subAccount?._id)
  return isOne && subAccount !== null && say` of ${linkTo(subAccount._id, subAccount.name)}`
}

function inOperation({ id, isUndo, reason }: Operation): ReactNode {
  const order = operationLink(id, 'a bulk operation')
  return say`${isUndo ? ' by undoing ' : ' in '}${order}${because(reason)}`
}

/** With its sub-account, unless the page or the sentence says that anyway: tokens of two may have the same name. */
function named({ action, subject, from, to, subAccount }: HistoryEntry, known: Known, ownId: string | undefined) {
  const it = called(subject, known, to.name ?? from.name)
  const isSaid = ownId !== undefined || action === 'token.create' || subAccount?._id === subject
  return isSaid || subAccount === null ? it : say`${it} of ${linkTo(subAccount._id, subAccount.name)}`
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

/** Leads to everything that they did. */
function who(by: string, known: Known): ReactNode {
  return (
    <Link to="/history" search={{ by }} className={text.plainLink}>
      {by.startsWith('key_') ? <>Account key {called(by, known)}</> : <Name>{actorName(by, known.names[by])}</Name>}
    </Link>
  )
}
