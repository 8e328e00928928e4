// A failed request: what went wrong, and how to go on.
import { Alert, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { explain, type RequestKind } from '../api/errors.ts'
import { BusyButton } from './busy-button.tsx'
import { keepFocusOnRemoval } from './focus.ts'
import { Icon } from './icon.tsx'

interface ErrorAlertProps {
  readonly error: unknown
  readonly kind: RequestKind
  readonly retry: () => void
  readonly busy: boolean
  /** Offered next to "Try again". */
  readonly children?: ReactNode
}

export function ErrorAlert({ error, kind, retry, busy, children }: ErrorAlertProps) {
  const { title, text, requestId } = explain(error, kind)
  return (
    <Alert
      // Changes fail in dialogs and forms, which give the focus back when they close.
      ref={kind === 'read' ? keepFocusOnRemoval : undefined}
      color="red"
      variant="light"
      icon={<Icon name="alert" size={20} />}
      title={title}
      role="alert"
    >
      <Stack gap="sm" align="flex-start">
        <Text size="sm" c="inherit">
          {text}
        </Text>
        {requestId !== undefined && (
          <Text size="xs" c="inherit">
            Request {requestId}
          </Text>
        )}
        <Group gap="xs">
          <BusyButton size="xs" variant="default" onClick={retry} busy={busy}>
            Try again
          </BusyButton>
          {children}
        </Group>
      </Stack>
    </Alert>
  )
}
