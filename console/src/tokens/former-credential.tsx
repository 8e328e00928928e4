// Whether the credential from before a rotation is still used, so that one knows when nothing depends on it any more.
import type { Token } from '../../../client/latchkey-client.ts'
import { Moment, RelativeTime, useNow } from '../ui/time.tsx'
import { formerCredentialEnd } from './token-words.ts'

const HOUR_MS = 3_600_000

/** Empty for a token without a former credential that still works. */
export function FormerCredentialUse({ token }: { token: Token }) {
  const now = useNow()
  const until = formerCredentialEnd(token, now)
  if (until === undefined) return null
  return (
    <span>
      The former credential works until <Moment at={until} />; <LastUse token={token} now={now} />.
    </span>
  )
}

function LastUse({ token, now }: { token: Token; now: number }) {
  const { formerCredentialLastUsedAt: at = null, formerCredentialLastUsedFrom: from = null } = token.details ?? {}
  if (at === null) return 'nobody has used it since the rotation'
  return (
    <>
      {now - Date.parse(at) >= HOUR_MS && 'nobody has used it for an hour, '}
      last used <RelativeTime at={at} />
      {from !== null && ` from ${from}`}
    </>
  )
}
