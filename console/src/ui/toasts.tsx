// Short messages in the corner of the page, read out as they appear. One that can be undone stays longer, a failure until it is dismissed.
import { Button, Group, Kbd } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import {
  createNotificationsStore,
  hideNotification,
  Notifications,
  type NotificationsStore,
  showNotification,
  updateNotification,
  useNotifications,
} from '@mantine/notifications'
import { createContext, type ReactNode, use, useCallback, useRef, useState } from 'react'
import { keepFocusOnRemoval } from './focus.ts'

const SHOWN_MS = 6_000
const UNDO_SHOWN_MS = 12_000
/** The newest ones; those before them are shown again when there is room. */
const SHOWN_AT_ONCE = 5

export interface Toast {
  readonly text: ReactNode
  /** `quiet`: nothing that the person has done; it takes the place of the one before. */
  readonly tone?: 'good' | 'bad' | 'quiet'
  readonly undo?: () => void
}

const COLORS = { good: 'teal', bad: 'red', quiet: 'gray.5' } as const

const isMac = navigator.platform.startsWith('Mac')
const SHORTCUT = { label: isMac ? '⌘Z' : 'Ctrl Z', aria: isMac ? 'Meta+Z' : 'Control+Z' }

type Show = (toast: Toast) => void

const ToastContext = createContext<Show>(() => {})

export const useToast = (): Show => use(ToastContext)

/** With a store of its own, not that of the whole page: messages end with the session that they are about. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [store] = useState(createNotificationsStore)
  const [undos] = useState(() => new Map<string, () => void>())
  const count = useRef(0)
  const undo = useCallback(
    (id: string) => {
      hideNotification(id, store)
      undos.get(id)?.()
    },
    [store, undos],
  )
  const show = useCallback<Show>(
    ({ text, tone = 'good', undo: takeBack }) => {
      count.current++
      const id = `${tone} ${count.current}`
      if (tone === 'quiet') {
        for (const each of store.getState().notifications)
          if (each.id?.startsWith(tone)) hideNotification(each.id, store)
      }
      if (takeBack) undos.set(id, takeBack)
      const autoClose = tone === 'bad' ? false : takeBack ? UNDO_SHOWN_MS : SHOWN_MS
      const shown = {
        id,
        message: takeBack ? <Undoable id={id} text={text} store={store} undos={undos} undo={undo} /> : text,
        color: COLORS[tone],
        withBorder: true,
        // The newest first.
        priority: count.current,
        closeButtonProps: { 'aria-label': 'Dismiss', ref: keepFocusOnRemoval },
      }
      // The time does not run while the focus is on it, as it does not while the pointer is: nobody loses an undo to the clock.
      const hold = () => updateNotification({ ...shown, autoClose: false }, store)
      const release = () => updateNotification({ ...shown, autoClose }, store)
      showNotification({ ...shown, autoClose, onFocus: hold, onBlur: release }, store)
    },
    [store, undos, undo],
  )
  // Not in an input, where it undoes what was typed.
  useHotkeys([
    [
      'mod+Z',
      () => {
        const last = lastUndoable(store.getState().notifications, undos)
        if (last !== undefined) undo(last)
      },
    ],
  ])
  return (
    <ToastContext value={show}>
      {children}
      <section aria-live="polite" aria-label="Messages">
        <Notifications
          store={store}
          limit={SHOWN_AT_ONCE}
          containerWidth={420}
          transitionDuration={0}
          withinPortal={false}
        />
      </section>
    </ToastContext>
  )
}

type Undos = ReadonlyMap<string, () => void>

const lastUndoable = (shown: readonly { readonly id?: string }[], undos: Undos): string | undefined =>
  shown.find(({ id = '' }) => undos.has(id))?.id

interface UndoableProps {
  readonly id: string
  readonly text: ReactNode
  readonly store: NotificationsStore
  readonly undos: Undos
  readonly undo: (id: string) => void
}

function Undoable({ id, text, store, undos, undo }: UndoableProps) {
  // The one that the shortcut undoes.
  const isLast = lastUndoable(useNotifications(store).notifications, undos) === id
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <span>{text}</span>
      <Button
        ref={keepFocusOnRemoval}
        size="compact-sm"
        variant="default"
        aria-keyshortcuts={isLast ? SHORTCUT.aria : undefined}
        onClick={() => undo(id)}
      >
        Undo
        {isLast && (
          <Kbd size="xs" ml={6} aria-hidden>
            {SHORTCUT.label}
          </Kbd>
        )}
      </Button>
    </Group>
  )
}
