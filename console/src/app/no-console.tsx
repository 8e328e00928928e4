// Shown instead of every view to a key that may read nothing.
import { Empty } from '../ui/empty-page.tsx'
import { ViewTitle } from '../ui/view-title.tsx'

export function NoConsole() {
  return (
    <>
      <ViewTitle title="This key cannot use the console" />
      <Empty
        title="It is a verifier"
        description="A verifier may ask whether a credential is valid, and nothing else. Sign out, and in again with a key that may read."
      />
    </>
  )
}
