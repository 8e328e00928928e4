// One history entry as a sentence: who did what to what.
import type { ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import { Name } from '../ui/name.tsx'
import { say } from '../ui/say.ts'
import { actionOf } from './actions.tsx'
import { called, type Known, type Names } from './wording.tsx'

/** Of an actor without a name: whom an identity provider vouches for is `jwt:alice`, and called alice. */
export const shortId = (by: string): string => by.replace(/^[a-z]+:/, '')

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
  const it = called(entry.subject, known, entry.to.name ?? entry.from.name)
  return say`${who(entry.by, known)} ${actionOf(entry.action).sentence({ it, entry, known })}`
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

function who(by: string, known: Known): ReactNode {
  if (by === 'operator') return 'The operator'
  if (by.startsWith('key_')) return <>Account key {called(by, known)}</>
  return <Name>{known.names[by] ?? shortId(by)}</Name>
}
