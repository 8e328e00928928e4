// Signing in: through the company's identity provider, where there is one, or with an account key, which is checked with a
// request to the service.
import { Alert, Button, Center, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useDocumentTitle } from '@mantine/hooks'
import { type FormEvent, useState } from 'react'
import { looksLikeKey } from '../api/account-key.ts'
import { clientOf } from '../api/connect.ts'
import { whyRefused } from '../api/errors.ts'
import type { End } from '../api/presence.ts'
import { useSession } from '../api/session.tsx'
import { BusyButton, WRAPS } from '../ui/busy-button.tsx'
import { ErrorAlert } from '../ui/error-alert.tsx'
import { Icon } from '../ui/icon.tsx'
import frame from './frame.module.css'

const ENDS: Readonly<Record<End, string>> = {
  expired: 'Your session has expired: it was not used for 30 minutes, or began 12 hours ago. Sign in again.',
  ended:
    'Your session was ended by an owner of the account, by signing out in another tab, or elsewhere. Sign in again.',
  gone: 'Your session has ended, such as by signing out in another tab. Sign in again.',
  'no-access': 'You no longer have access to any account. Ask your operator for a grant, then sign in again.',
  unconfirmed: 'The service did not confirm it: your session may be open until it has not been used for 30 minutes.',
}

export function SignIn() {
  const { signIn, reason, end, presence, unanswered } = useSession()
  const why = end === undefined ? reason : ENDS[end]
  const [typed, setTyped] = useState('')
  const [refusal, setRefusal] = useState<string>()
  const [isTrying, setTrying] = useState(false)
  useDocumentTitle('Sign in · Latchkey')
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setTrying(true)
    const why = await tryKey(typed.trim())
    setTrying(false)
    setRefusal(why)
    if (why === undefined) signIn(typed.trim())
  }
  return (
    <Center component="main" mih="100vh" p="md">
      <Paper withBorder p="lg" shadow="sm" w="100%" maw={420} component="form" onSubmit={submit}>
        <Stack gap="lg">
          <Text span size="xl" className={frame.brand}>
            <Icon name="key" size={26} /> Latchkey
          </Text>
          <Title order={1} size="h3">
            Sign in
          </Title>
          {why !== undefined && refusal === undefined && (
            <Alert color="yellow" variant="light" role="alert" title="You were signed out">
              {why}
            </Alert>
          )}
          {unanswered !== undefined && (
            <>
              <ErrorAlert error={unanswered.error} kind="read" retry={unanswered.askAgain} busy={unanswered.isAsking} />
              <Text size="sm" role="status">
                It is not known yet whether you are signed in. An account key can be tried meanwhile.
              </Text>
            </>
          )}
          {presence?.provider && (
            <>
              <Button component="a" href={signInAddress()} styles={WRAPS}>
                Sign in with your company account
              </Button>
              <Text size="sm" c="dimmed" ta="center">
                or with an account key
              </Text>
            </>
          )}
          <PasswordInput
            label="Account key"
            autoFocus={!presence?.provider}
            placeholder="lk_key_…"
            autoComplete="off"
            spellCheck={false}
            required
            withAsterisk={false}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
            value={typed}
            error={refusal}
            onChange={({ currentTarget: { value } }) => {
              setTyped(value)
              setRefusal(undefined)
            }}
          />
          <BusyButton type="submit" variant={presence?.provider ? 'default' : 'filled'} busy={isTrying}>
            Sign in
          </BusyButton>
          <Text size="sm" c="dimmed">
            The key stays in this tab until you sign out or close it. Your operator makes keys with{' '}
            <code>latchkey key create</code>.
          </Text>
        </Stack>
      </Paper>
    </Center>
  )
}

/** The provider sends the person back to the page that is open now. */
function signInAddress(): string {
  return `/auth/login?returnTo=${encodeURIComponent(`${location.pathname}${location.search}`)}`
}

/** Why the key is refused; undefined when it is accepted. */
async function tryKey(key: string): Promise<string | undefined> {
  if (!looksLikeKey(key)) return 'An account key is letters, digits and underscores, such as lk_key_…'
  try {
    await clientOf(key).listSubAccounts({ limit: 1 })
    return undefined
  } catch (error) {
    return whyRefused(error)
  }
}
