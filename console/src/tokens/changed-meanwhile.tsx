// A token that somebody else changes while a dialog about it is open.
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { isConflict } from '../api/errors.ts'
import { queries } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { Name } from '../ui/name.tsx'
import { say, together } from '../ui/say.ts'
import { Warning } from '../ui/warning.tsx'

/** The token as the dialog was opened with it; once a change was refused because of another one, as it is now. */
export function useTokenNow(opened: Token, error: unknown): Token {
  const [hasConflict, setConflict] = useState(false)
  if (isConflict(error) && !hasConflict) setConflict(true)
  const { data } = useQuery({ ...queries.token(useClient(), opened._id), enabled: hasConflict })
  // What was read before, for the token's own page, may be older than what the dialog was opened with.
  const isNewer = (data?.details?.version ?? 0) > (opened.details?.version ?? 0)
  return hasConflict && data && isNewer ? data : opened
}

interface ChangedMeanwhileProps {
  readonly opened: Token
  readonly now: Token
}

export function ChangedMeanwhile({ opened, now }: ChangedMeanwhileProps) {
  const isRead = opened.details?.version !== now.details?.version
  return (
    <Warning role="status">
      It has been changed since you opened this: by somebody else, or by an attempt of yours whose answer was lost. This
      attempt has changed nothing. {isRead ? together(changesOf(opened, now), ' ') : 'What has changed is being read …'}
    </Warning>
  )
}

function changesOf(opened: Token, now: Token): readonly ReactNode[] {
  const changes = [
    opened.name !== now.name && say`It is called ${<Name>{now.name}</Name>} now.`,
    opened.status !== now.status && `It is ${now.status === 'active' ? 'enabled' : 'disabled'} now.`,
    opened.token !== now.token && 'It has another credential now.',
  ].filter((change) => change !== false)
  return changes.length > 0 ? changes : ['Its name, status and credential are the same.']
}
