// Short messages in the corner of the page, read out as they appear. One that can be undone stays longer.
import { Button, Group, Kbd, Notification, Stack } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import {
  createContext,
  type ReactNode,
  type SyntheticEvent,
  use,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
} from 'react'
import { keepFocusOnRemoval } from './focus.ts'

const SHOWN_MS = 6_000
const UNDO_SHOWN_MS = 12_000

export interface Toast {
  readonly text: ReactNode
  /** `quiet`: nothing that the person has done; it takes the place of the one before. */
  readonly tone?: 'good' | 'bad' | 'quiet'
  readonly undo?: () => void
}

interface ShownToast extends Toast {
  readonly id: number
}

const COLORS = { good: 'teal', bad: 'red', quiet: 'gray.5' } as const

const isMac = navigator.platform.startsWith('Mac')
const SHORTCUT = { label: isMac ? '⌘Z' : 'Ctrl Z', aria: isMac ? 'Meta+Z' : 'Control+Z' }

type Show = (toast: Toast) => void

const ToastContext = createContext<Show>(() => {})

export const useToast = (): Show => use(ToastContext)

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly ShownToast[]>([])
  const lastId = useRef(0)
  const show = useCallback<Show>((toast) => {
    lastId.current++
    const added = { ...toast, id: lastId.current }
    // Older ones make room, but none that can be undone.
    setToasts((shown) => {
      const others = toast.tone === 'quiet' ? shown.filter(({ tone }) => tone !== 'quiet') : shown
      return [...others.filter(({ undo }, index) => undo || index >= others.length - 2), added]
    })
  }, [])
  const close = useCallback((id: number) => setToasts((shown) => shown.filter((toast) => toast.id !== id)), [])
  const last = toasts.findLast(({ undo }) => undo)
  // Not in an input, where it undoes what was typed.
  useHotkeys([
    [
      'mod+Z',
      () => {
        if (last === undefined) return
        close(last.id)
        last.undo?.()
      },
    ],
  ])
  const list = useMemo(
    () => toasts.map((toast) => <ToastItem key={toast.id} toast={toast} close={close} isLast={toast === last} />),
    [toasts, close, last],
  )
  return (
    <ToastContext value={show}>
      {children}
      <Stack
        component="section"
        gap={10}
        pos="fixed"
        right={16}
        bottom={16}
        w="min(420px, calc(100vw - 32px))"
        style={{ zIndex: 400 }}
        aria-live="polite"
        aria-label="Messages"
      >
        {list}
      </Stack>
    </ToastContext>
  )
}

interface ToastItemProps {
  readonly toast: ShownToast
  readonly close: (id: number) => void
  /** The one that the shortcut undoes. */
  readonly isLast: boolean
}

function ToastItem({ toast, close, isLast }: ToastItemProps) {
  const [held, setHeld] = useState(false)
  const { id, text, tone = 'good', undo } = toast
  const release = ({ currentTarget }: SyntheticEvent) =>
    setHeld(currentTarget.matches(':hover') || currentTarget.contains(document.activeElement))
  // The time does not run while the pointer or the focus is on it: nobody loses an undo to the clock.
  useEffect(() => {
    if (held) return
    const timer = setTimeout(close, undo ? UNDO_SHOWN_MS : SHOWN_MS, id)
    return () => clearTimeout(timer)
  }, [held, undo, id, close])
  return (
    <Notification
      ref={keepFocusOnRemoval}
      withBorder
      color={COLORS[tone]}
      closeButtonProps={{ 'aria-label': 'Dismiss' }}
      onClose={() => close(id)}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={release}
      onFocus={() => setHeld(true)}
      onBlur={release}
    >
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <span>{text}</span>
        {undo && (
          <Button
            size="compact-sm"
            variant="default"
            aria-keyshortcuts={isLast ? SHORTCUT.aria : undefined}
            onClick={() => {
              close(id)
              undo()
            }}
          >
            Undo
            {isLast && (
              <Kbd size="xs" ml={6} aria-hidden>
                {SHORTCUT.label}
              </Kbd>
            )}
          </Button>
        )}
      </Group>
    </Notification>
  )
}
