// Shown instead of every view to a caller who may read nothing.
import { Empty } from '../ui/empty-page.tsx'
import { ViewTitle } from '../ui/view-title.tsx'

export function NoConsole() {
  return (
    <>
      <ViewTitle title="You may not use the console" />
      <Empty
        title="Your role is verifier"
        description="A verifier may ask whether a credential is valid, and nothing else. Sign out, and in again with another role or key that may read."
      />
    </>
  )
}
