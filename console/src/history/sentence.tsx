// One history entry as a sentence: who did what to what.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { actionOf } from './actions.tsx'
import { called, type Known, linkTo, type Names } from './wording.tsx'

/** Who is neither an account key nor a person; the service announces by itself that a token expires. */
const OTHERS: Names = { operator: 'The operator', service: 'The service' }

/** Whom an identity provider vouches for is `jwt:alice`, and called alice without another name. */
export const actorName = (by: string, name?: string | null): string => OTHERS[by] ?? name ?? by.replace(/^[a-z]+:/, '')

interface SentenceProps {
  readonly entry: HistoryEntry
  /** Of what exists now. */
  readonly names: Names
  /** What the page is about needs no link. */
  readonly ownId: string | undefined
}

export function Sentence({ entry, names: present, ownId }: SentenceProps) {
  const names = { ...present, ...namesThen(entry) }
  const known = { names, isLinked: (id: string) => id in present && id !== ownId }
  const it = named(entry, known, ownId)
  const again = called(entry.subject, { names, isLinked: () => false }, entry.to.name ?? entry.from.name)
  return say`${who(entry.by, known)} ${actionOf(entry.action).sentence({ it, again, entry, known })}`
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
