// A new credential, account key, secret of a webhook or link to the portal in its dialog.
import { Button, Group, Text } from '@mantine/core'
import { useEffect, useState } from 'react'
import { BeforeLeaving } from './before-leaving.tsx'
import { useCopy } from './copy.ts'
import { masked } from './format.ts'
import { Icon } from './icon.tsx'
import { onHiddenTab, type Secret, SHOWN_MS, ShowButton } from './shown-secret.tsx'
import surface from './surface.module.css'
import text from './text.module.css'

const LABELS: Readonly<Record<Secret, string>> = {
  credential: 'Credential',
  key: 'Account key',
  secret: 'Secret',
  link: 'Link',
}

interface NewCredentialProps {
  readonly value: string
  readonly what?: Secret
  /** The name of the token, key, webhook or sub-account. */
  readonly of: string
}

/** Shown without being asked for: this is what the dialog was opened for. It is held until the dialog is closed. */
export function NewCredential({ value, what = 'credential', of }: NewCredentialProps) {
  const [isShown, setShown] = useState(true)
  useHiding(isShown, setShown)
  const { copied, copy } = useCopy(value, LABELS[what])
  const [isTaken, setTaken] = useState(false)
  if (copied && !isTaken) setTaken(true)
  return (
    <>
      <Group gap={8} wrap="nowrap" py={9} pl={14} pr={10} className={surface.inset}>
        <Text
          component="code"
          inherit
          flex={1}
          miw={0}
          className={text.name}
          style={{ userSelect: 'all' }}
          onCopy={() => setTaken(isTaken || isShown)}
          data-testid={`new-${what}`}
        >
          {isShown ? value : masked(value)}
        </Text>
        <ShowButton isShown={isShown} toggle={() => setShown(!isShown)} what={what} of={of} />
      </Group>
      <Button
        variant={copied ? 'light' : 'filled'}
        leftSection={copied ? <Icon name="check" /> : <Icon name="copy" />}
        onClick={copy}
        autoFocus
      >
        {copied ? 'Copied' : `Copy ${what}`}
      </Button>
      <BeforeLeaving loss={isTaken ? undefined : 'secret'} />
    </>
  )
}

/** After a minute, and with the tab. `setShown` must be stable. */
function useHiding(isShown: boolean, setShown: (isShown: boolean) => void): void {
  useEffect(() => {
    if (!isShown) return
    const hide = () => setShown(false)
    const timer = setTimeout(hide, SHOWN_MS)
    const stop = onHiddenTab(hide)
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [isShown, setShown])
}
