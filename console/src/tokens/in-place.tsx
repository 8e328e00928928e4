// A fact of a token that is changed in its place: what it is with a button, or the form that the button opens.
import { Group } from '@mantine/core'
import { type ReactNode, useEffect, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { usePermissions } from '../api/permissions.ts'
import { keepFocus } from '../ui/focus.ts'
import { IconButton } from '../ui/row-buttons.tsx'
import { fullName } from './token-words.ts'

interface InPlaceProps {
  readonly token: Token
  /** Such as "tags". */
  readonly what: string
  readonly form: (onDone: () => void) => ReactNode
  readonly children: ReactNode
}

export function InPlace({ token, what, form, children }: InPlaceProps) {
  const [isEditing, setEditing] = useState(false)
  const { change } = usePermissions()
  const button = `edit-${what}`
  useEffect(() => {
    if (isEditing) return () => keepFocus(button)
  }, [isEditing, button])
  if (isEditing) return form(() => setEditing(false))
  return (
    <Group gap={6}>
      {children}
      {change && (
        <IconButton
          icon="pencil"
          id={button}
          label={`Change the ${what} of ${fullName(token)}`}
          onClick={() => setEditing(true)}
        />
      )}
    </Group>
  )
}
