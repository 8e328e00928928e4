// Asks before an account key from a link replaces the one that is signed in.
import { Button, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { queries } from '../api/queries.ts'
import { useClient, useSession } from '../api/session.tsx'
import { Dialog, DialogButtons } from '../ui/dialog.tsx'
import { Name } from '../ui/name.tsx'

export function LinkedKeyDialog() {
  const { isKeyOffered, acceptOffer, declineOffer } = useSession()
  const { data } = useQuery(queries.whoami(useClient()))
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
