// A credential on screen: masked until asked for, and masked again after a while.
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { usePermissions } from '../api/permissions.ts'
import { useCopy } from './copy.ts'
import classes from './credential.module.css'
import { isMasked, masked } from './format.ts'
import { Icon } from './icon.tsx'
import { IconButton } from './row-buttons.tsx'

interface CredentialProps {
  /** In full, or already masked by the service: then there is nothing to reveal or copy. */
  readonly value: string
  /** The name of its token. */
  readonly of: string
}

export function Credential({ value, of }: CredentialProps) {
  const { reveal } = usePermissions()
  if (isMasked(value) || !reveal) return <code className={classes.masked}>{masked(value)}</code>
  return <RevealableCredential value={value} of={of} />
}

function RevealableCredential({ value, of }: CredentialProps) {
  const { revealed, toggle } = useRevealed(value, false)
  const { copied, copy } = useCopy(value, 'Credential')
  return (
    <span className={classes.credential}>
      <code className={revealed ? classes.revealed : classes.masked}>{revealed ? value : masked(value)}</code>
      <RevealButton revealed={revealed} toggle={toggle} of={of} />
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy credential of ${of}`} onClick={copy} />
    </span>
  )
}

/** A new credential, shown without being asked for: this is what the dialog was opened for. */
export function NewCredential({ value, of }: CredentialProps) {
  const { revealed, toggle } = useRevealed(value, true)
  const { copied, copy } = useCopy(value, 'Credential')
  return (
    <>
      <div className={classes.newCredential}>
        <code data-testid="new-credential">{revealed ? value : masked(value)}</code>
        <RevealButton revealed={revealed} toggle={toggle} of={of} />
      </div>
      <Button
        variant={copied ? 'light' : 'filled'}
        leftSection={copied ? <Icon name="check" /> : <Icon name="copy" />}
        onClick={copy}
        autoFocus
      >
        {copied ? 'Copied' : 'Copy credential'}
      </Button>
    </>
  )
}

function RevealButton({ revealed, toggle, of }: { revealed: boolean; toggle: () => void; of: string }) {
  return (
    <IconButton
      icon={revealed ? 'eye-off' : 'eye'}
      label={`${revealed ? 'Hide' : 'Reveal'} credential of ${of}`}
      pressed={revealed}
      onClick={toggle}
    />
  )
}

const REVEALED_MS = 60_000

/** The state is the credential that was revealed, so that one which replaces it by a rotation is masked at first. */
function useRevealed(value: string, initially: boolean) {
  const [shown, setShown] = useState(initially ? value : undefined)
  const revealed = shown === value
  useEffect(() => {
    if (!revealed) return
    const timer = setTimeout(() => setShown(undefined), REVEALED_MS)
    return () => clearTimeout(timer)
  }, [revealed])
  return { revealed, toggle: () => setShown(revealed ? undefined : value) }
}
