// A credential on screen: masked until asked for, and masked again after a while.
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { useCopy } from './copy.ts'
import { Icon } from './icon.tsx'
import { IconButton } from './parts.tsx'
import { masked } from './words.ts'

const REVEALED_MS = 60_000

export function Credential({ value, of }: { value: string; of: string }) {
  const { revealed, toggle } = useRevealed(value)
  const { copied, copy } = useCopy(value, 'Credential')
  return (
    <span className="credential">
      <code className={revealed ? 'revealed' : ''}>{revealed ? value : masked(value)}</code>
      <RevealButton revealed={revealed} toggle={toggle} of={of} />
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy credential of ${of}`} onClick={copy} />
    </span>
  )
}

/** A new credential, shown without being asked for: this is what the dialog was opened for. */
export function NewCredential({ value, of }: { value: string; of: string }) {
  const { revealed, toggle } = useRevealed(value, 'at once')
  const { copied, copy } = useCopy(value, 'Credential')
  return (
    <div className="new-credential">
      <div className="new-credential-value">
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
    </div>
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

/** What is remembered is the credential that was revealed: one that takes its place, by a rotation, begins masked. */
function useRevealed(value: string, when?: 'at once') {
  const [shown, setShown] = useState(when === 'at once' ? value : undefined)
  const revealed = shown === value
  useEffect(() => {
    if (!revealed) return
    const timer = setTimeout(() => setShown(undefined), REVEALED_MS)
    return () => clearTimeout(timer)
  }, [revealed])
  return { revealed, toggle: () => setShown(revealed ? undefined : value) }
}
