// A small form in the place of what it changes: Enter saves, Escape leaves, and what somebody else has changed meanwhile is said.
import { Button, Group, Stack } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import type { Editing } from '../api/use-edit.ts'
import { BeforeLeaving } from '../ui/before-leaving.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import text from '../ui/text.module.css'

interface InPlaceFormProps {
  readonly label?: string
  readonly edit: Editing
  readonly isDirty: boolean
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void
  readonly saves: string
  /** What it is now, and what saving again does to that. */
  readonly now: ReactNode
  readonly children: ReactNode
}

export function InPlaceForm({ label, edit, isDirty, onSubmit, saves, now, children }: InPlaceFormProps) {
  const { hasConflict, isRead, isPending, leave } = edit
  return (
    <form
      onSubmit={onSubmit}
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key === 'Escape') leave()
      }}
    >
      <Stack gap={6} miw={180}>
        {children}
        {hasConflict && (
          <span role="status" className={text.small}>
            {isRead ? now : 'What has changed is being read …'}
          </span>
        )}
        <Group gap={6}>
          <BusyButton type="submit" size="compact-xs" busy={isPending || !isRead}>
            {saves}
          </BusyButton>
          <Button size="compact-xs" variant="default" aria-disabled={isPending} onClick={leave}>
            Cancel
          </Button>
        </Group>
      </Stack>
      <BeforeLeaving loss={isDirty && !isPending ? 'typed' : undefined} />
    </form>
  )
}
