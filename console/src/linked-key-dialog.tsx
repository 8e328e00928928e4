// Asks before an account key that a link has brought replaces the one that is signed in.
import { Button, Stack, Text } from '@mantine/core'
import { Dialog, DialogButtons } from './dialog.tsx'
import { useOverview } from './overview-view.tsx'
import { Name } from './parts.tsx'
import { useSession } from './session.tsx'

export function LinkedKeyDialog() {
  const { isKeyOffered, acceptOffer, declineOffer } = useSession()
  const { data } = useOverview()
  return (
    <Dialog shown={isKeyOffered || undefined} titleOf={() => 'Sign in with the key of the link?'} close={declineOffer}>
      {() => (
        <Stack gap="md">
          <Text size="sm">
            You are signed in to {data === undefined ? 'an account' : <Name>{data.account.name}</Name>}. The link you
            followed carries another account key, which may belong to another account.
          </Text>
          <Text size="sm">
            Go on only if you know who made the link. What you see and change then is in that account.
          </Text>
          <DialogButtons cancel="Stay signed in">
            <Button color="red" onClick={acceptOffer}>
              Use the other key
            </Button>
          </DialogButtons>
        </Stack>
      )}
    </Dialog>
  )
}
