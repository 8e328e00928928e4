// Shown instead of a view that has thrown: a fault of the console itself.
import type { ErrorComponentProps } from '@tanstack/react-router'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { ViewTitle } from '../ui/view-title.tsx'

export function ViewError({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <ViewTitle title="This view cannot be shown" />
      <ErrorAlert error={error} kind="read" retry={reset} busy={false} />
    </>
  )
}
