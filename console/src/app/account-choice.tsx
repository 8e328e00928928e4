// Choosing one of the accounts that a person may work in, after signing in and later.
import { Alert, Button, Center, Paper, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { useState } from 'react'
import { NOBODY } from '../api/auth.ts'
import { useSession } from '../api/session.tsx'
import { BusyButton, WRAPS } from '../ui/busy-button.tsx'
import { Name } from '../ui/name.tsx'

export function AccountChoice() {
  const { presence, choose, signOut } = useSession()
  const [chosen, setChosen] = useState<string>()
  const [hasFailed, setFailed] = useState(false)
  useDocumentTitle('Choose an account · Latchkey')
  const { person, accounts } = presence ?? NOBODY
  const go = async (id: string) => {
    setChosen(id)
    setFailed(false)
    await choose(id).catch(() => setFailed(true))
    setChosen(undefined)
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="lg" shadow="sm" w="100%" maw={420}>
        <Stack gap="lg">
          <Title order={1} size="h3">
            Choose an account
          </Title>
          <Text size="sm">
            You are signed in as <Name>{person?.email ?? person?.subject ?? ''}</Name>.
          </Text>
          {hasFailed && (
            <Alert color="red" variant="light" role="alert" title="The account could not be opened">
              You may no longer have access to it, or the service cannot be reached. Try again, or choose another one.
            </Alert>
          )}
          {accounts.map(({ _id: id, name }) => (
            <BusyButton key={id} variant="default" styles={WRAPS} busy={chosen === id} onClick={() => void go(id)}>
              <Name>{name}</Name>
            </BusyButton>
          ))}
          <Button variant="subtle" onClick={signOut}>
            Sign out
          </Button>
        </Stack>
      </Paper>
    </Center>
  )
}
