// A credential on screen: masked until asked for, and masked again after a while.
import { Button } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'
import { IconButton } from './parts.tsx'
import { useToast } from './toasts.tsx'
import { masked } from './words.ts'

const REVEALED_MS = 60_000
const COPIED_MS = 2_000

export function Credential({ value, of }: { value: string; of: string }) {
  const [revealed, setRevealed] = useState(false)
  useEffect(() => {
    if (!revealed) return
    const timer = setTimeout(() => setRevealed(false), REVEALED_MS)
    return () => clearTimeout(timer)
  }, [revealed])
  const { copied, copy } = useCopy(value)
  return (
    <span className="credential">
      <code className={revealed ? 'revealed' : ''}>{revealed ? value : masked(value)}</code>
      <IconButton
        icon={revealed ? 'eye-off' : 'eye'}
        label={`${revealed ? 'Hide' : 'Reveal'} credential of ${of}`}
        pressed={revealed}
        onClick={() => setRevealed(!revealed)}
      />
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy credential of ${of}`} onClick={copy} />
    </span>
  )
}

/** A new credential, in full: this is what the dialog was opened for. */
export function NewCredential({ value }: { value: string }) {
  const { copied, copy } = useCopy(value)
  return (
    <div className="new-credential">
      <code data-testid="new-credential">{value}</code>
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

function useCopy(value: string) {
  const [copied, setCopied] = useState(false)
  const toast = useToast()
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    const done = await writeClipboard(value)
    setCopied(done)
    toast(
      done
        ? { text: 'Credential copied to the clipboard' }
        : {
            text: 'The browser did not let this page copy. Copy the credential by hand, where it is shown in full.',
            tone: 'bad',
          },
    )
  }
  return { copied, copy: () => void copy() }
}

/** Browsers offer the clipboard only over HTTPS and on the machine itself. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
