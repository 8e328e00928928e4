// The way in: an account key, checked by asking the service something.
import { Alert, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import { createClient, LatchkeyError } from '../../client/latchkey-client.ts'
import { BusyButton } from './busy-button.tsx'
import { Icon } from './icon.tsx'
import { explain, explainRefusal } from './problems.ts'
import { looksLikeKey, useSession } from './session.tsx'

export function SignIn() {
  const { signIn, reason } = useSession()
  const [key, setKey] = useState('')
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  useEffect(() => {
    document.title = 'Sign in · Latchkey'
  }, [])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const typed = key.trim()
    setBusy(true)
    setProblem(undefined)
    const refusal = await tryKey(typed)
    setBusy(false)
    if (refusal === undefined) signIn(typed)
    else setProblem(refusal)
  }
  return (
    <main className="sign-in">
      <Paper withBorder p="xl" shadow="sm" component="form" onSubmit={submit}>
        <Stack gap="lg">
          <div className="brand brand-large">
            <Icon name="key" size={26} /> Latchkey
          </div>
          <Title order={1} size="h3">
            Sign in
          </Title>
          {reason !== undefined && problem === undefined && (
            <Alert color="yellow" variant="light" role="alert" title="You were signed out">
              {reason}
            </Alert>
          )}
          <PasswordInput
            label="Account key"
            placeholder="lk_key_…"
            autoComplete="off"
            spellCheck={false}
            required
            withAsterisk={false}
            value={key}
            error={problem}
            errorProps={{ role: 'alert' }}
            visibilityToggleButtonProps={{ 'aria-label': 'Show the key' }}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
          <BusyButton type="submit" busy={busy}>
            Sign in
          </BusyButton>
          <Text size="sm" className="dim">
            The key stays in this tab until you sign out or close it. Your operator makes keys with{' '}
            <code>latchkey key create</code>.
          </Text>
        </Stack>
      </Paper>
    </main>
  )
}

/** Why the key does not let anyone in; undefined when it does. */
async function tryKey(key: string): Promise<string | undefined> {
  if (!looksLikeKey(key)) return 'An account key is letters, digits and underscores, such as lk_key_…'
  try {
    await createClient({ accountKey: key, retries: 0 }).listSubAccounts({ limit: 1 })
    return undefined
  } catch (error) {
    if (error instanceof LatchkeyError && error.status === 401) return explainRefusal(error.message)
    const { title, text } = explain(error, 'change')
    return `${title}. ${text}`
  }
}
