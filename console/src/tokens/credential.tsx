// A token's credential: masked until it is asked for, which the history records.
import { Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import { codeOf, shortReason } from '../api/errors.ts'
import { HISTORY } from '../api/queries.ts'
import { useClient } from '../api/session.tsx'
import { useCopy } from '../ui/copy.ts'
import classes from '../ui/credential.module.css'
import { cx } from '../ui/cx.ts'
import { Name } from '../ui/name.tsx'
import { IconButton, SmallButton } from '../ui/row-buttons.tsx'
import { say } from '../ui/say.ts'
import { ShowButton } from '../ui/shown-secret.tsx'
import text from '../ui/text.module.css'
import { useToast } from '../ui/toasts.tsx'
import { hideCredential, showCredential, useShownCredential } from './shown-credential.ts'
import { useTokenActions } from './token-actions.tsx'
import { fullName } from './token-words.ts'

export function Credential({ token }: { token: Token }) {
  const { reveal } = useTokenActions().permissions
  return reveal ? <RevealableCredential token={token} /> : <code className={classes.masked}>{token.token}</code>
}

function RevealableCredential({ token }: { token: Token }) {
  const shown = useShownCredential(token._id, token.token)
  const { reveal, problem, isOnScreen } = useReveal(token)
  const { copied, copy } = useCopy(async () => shown ?? (await reveal()), 'Credential')
  if (problem !== undefined) return <NoCredential token={token} problem={problem} takesFocus />
  const show = async () => {
    const credential = await reveal()
    if (credential !== undefined && isOnScreen.current) showCredential(token._id, credential)
  }
  return (
    // As wide as its buttons: beside long names, the next column would cover them.
    <span className={text.line} style={{ minWidth: 'auto' }}>
      <code className={shown === undefined ? classes.masked : classes.revealed}>{shown ?? token.token}</code>
      <ShowButton
        isShown={shown !== undefined}
        toggle={() => (shown === undefined ? void show() : hideCredential())}
        of={fullName(token)}
      />
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy credential of ${fullName(token)}`} onClick={copy} />
    </span>
  )
}

type Problem = 'unreadable' | 'not-stored'

/** Asks for the credential, and keeps only why there is none. */
function useReveal({ _id, name, token: maskedForm }: Token) {
  const client = useClient()
  const cache = useQueryClient()
  const toast = useToast()
  const [found, setFound] = useState<{ readonly maskedForm: string; readonly problem: Problem }>()
  const isOnScreen = useRef(false)
  const asked = useRef<Promise<string | undefined>>(undefined)
  useEffect(() => {
    isOnScreen.current = true
    return () => {
      isOnScreen.current = false
    }
  }, [])
  const ask = async (): Promise<string | undefined> => {
    try {
      const { token: credential } = await client.revealToken({ id: _id })
      void cache.invalidateQueries({ queryKey: HISTORY })
      if (credential !== '') return credential
      setFound({ maskedForm, problem: 'unreadable' })
    } catch (error) {
      if (codeOf(error) === 'credential-not-stored') setFound({ maskedForm, problem: 'not-stored' })
      else
        toast({
          text: say`The credential of ${<Name>{name}</Name>} cannot be shown: ${shortReason(error)}`,
          tone: 'bad',
        })
    }
  }
  // Two clicks are one request, and one row of history.
  const reveal = () => {
    asked.current ??= ask().finally(() => {
      asked.current = undefined
    })
    return asked.current
  }
  // After a rotation the token has another credential.
  return { reveal, isOnScreen, problem: found?.maskedForm === maskedForm ? found.problem : undefined }
}

const PROBLEMS = {
  unreadable: {
    what: 'Cannot be read',
    why: 'The service cannot decrypt it. Rotating gives the token a new credential.',
  },
  'not-stored': {
    what: 'Not stored: it was shown once',
    why: 'This account shows a credential once, when it is made, and keeps none. Rotating gives the token a new one.',
  },
} as const

interface NoCredentialProps {
  readonly token: Token
  readonly problem: Problem
  /** Where the button was that asked for it. */
  readonly takesFocus?: boolean
}

/** A credential that nobody can be shown, and the way to another one. */
export function NoCredential({ token, problem, takesFocus = false }: NoCredentialProps) {
  const { start, permissions } = useTokenActions()
  const { what, why } = PROBLEMS[problem]
  const focus = useCallback((element: HTMLElement | null) => element?.focus(), [])
  return (
    <span className={text.twoLines} title={why} {...(takesFocus && { ref: focus, tabIndex: -1 })}>
      <Text span inherit fw={500} c="var(--color-warning)">
        {what}
      </Text>
      {permissions.change && (
        <span className={cx(text.dim, text.small)}>
          Rotate it to get a new one{' '}
          <SmallButton label={`Rotate credential of ${fullName(token)}`} onClick={() => start('rotate', token)}>
            Rotate…
          </SmallButton>
        </span>
      )}
    </span>
  )
}
