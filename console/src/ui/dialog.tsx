// The frame of all dialogs. It stays open while a change that was started in it is under way: closing it would not cancel
// the change, and would hide its outcome. Leaving the page asks, and so it does while there is something else to lose.
import { Button, type ButtonProps, Group, Modal, Text } from '@mantine/core'
import { useIsMutating } from '@tanstack/react-query'
import { type ReactNode, use, useId, useLayoutEffect, useState } from 'react'
import { worthRetrying } from '../api/errors.ts'
import { LeaveQuestion, type Loss, LossContext } from './before-leaving.tsx'
import { BusyButton } from './busy-button.tsx'
import { DialogContext } from './dialog-context.ts'
import { ErrorAlert } from './error-alert.tsx'
import { useFocusReturn } from './focus.ts'
import { useIsMounted, useLast } from './use-last.ts'

interface DialogProps<Shown> {
  readonly shown: Shown | undefined
  readonly titleOf: (shown: Shown) => string
  readonly close: () => void
  readonly children: (shown: Shown) => ReactNode
}

export function Dialog<Shown>({ shown, titleOf, close, children }: DialogProps<Shown>) {
  const { last, turn } = useLast(shown)
  const isOpen = useIsMounted() && shown !== undefined
  const mutationKey = [useId(), turn]
  const busy = useIsMutating({ mutationKey }) > 0
  const [loss, setLoss] = useState<Loss>()
  const [title, retitle] = useState<string>()
  const leave = () => {
    if (!busy) close()
  }
  return (
    <>
      <Modal
        opened={isOpen}
        onClose={leave}
        {...useFocusReturn(isOpen)}
        // What is typed is given up by Escape or a button, a secret by a button only.
        closeOnClickOutside={loss === undefined}
        closeOnEscape={loss !== 'secret'}
        title={title ?? (last && titleOf(last))}
        closeButtonProps={{ 'aria-label': 'Close', 'aria-disabled': busy }}
      >
        <DialogContext value={{ mutationKey, busy, leave, retitle }}>
          <LossContext value={setLoss}>
            <div key={turn}>{last && children(last)}</div>
          </LossContext>
        </DialogContext>
      </Modal>
      <LeaveQuestion loss={shown === undefined ? undefined : busy ? 'outcome' : loss} />
    </>
  )
}

/** The title of the dialog around, while what is shown in it is no question any more. */
export function useDialogTitle(title: string | undefined): void {
  const retitle = use(DialogContext)?.retitle
  useLayoutEffect(() => {
    retitle?.(title)
    return () => retitle?.(undefined)
  }, [title, retitle])
}

/** The button that closes the dialog, and the dialog's own buttons. */
export function DialogButtons({ cancel, children }: { cancel?: string; children: ReactNode }) {
  const frame = use(DialogContext)
  return (
    <Group justify="flex-end" gap="sm">
      <Button
        variant="default"
        aria-disabled={frame?.busy}
        onClick={frame?.leave}
        data-autofocus={cancel !== undefined || undefined}
      >
        {cancel ?? 'Cancel'}
      </Button>
      {children}
    </Group>
  )
}

/** The end of a dialog that shows what was made. */
export function DoneButton({ close }: { close: () => void }) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={close}>
        Done
      </Button>
    </Group>
  )
}

export interface ChangeButtonsProps extends Pick<ButtonProps, 'color' | 'disabled'> {
  readonly change: { readonly error: unknown; readonly isPending: boolean }
  readonly run: () => void
  /** In a form, which runs the change when it is submitted. */
  readonly submits?: boolean
  /** The form itself says what is wrong. */
  readonly isAboutFields?: boolean
  /** What to look at before trying again, where the change may have been made although its answer was lost. */
  readonly hint?: string | undefined
  readonly children: ReactNode
}

/** The end of a dialog that makes a change: what went wrong with it, and the buttons that leave the dialog and make the change. */
export function ChangeButtons(props: ChangeButtonsProps) {
  const { change, run, submits = false, isAboutFields = false, hint, ...button } = props
  const { error, isPending } = change
  const how = submits ? { type: 'submit' as const } : { onClick: run, 'data-autofocus': true }
  return (
    <>
      {error !== null && !isAboutFields && <ErrorAlert error={error} kind="change" retry={run} busy={isPending} />}
      {hint !== undefined && worthRetrying(error) && (
        <Text size="sm" role="status">
          {hint}
        </Text>
      )}
      <DialogButtons>
        <BusyButton busy={isPending} {...how} {...button} />
      </DialogButtons>
    </>
  )
}
