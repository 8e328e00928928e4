// Asks before something is left that would be lost by it: by a link, by going back, by closing the tab, or by signing out.
import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useBlocker } from '@tanstack/react-router'
import { createContext, use, useEffect, useLayoutEffect, useState } from 'react'
import { useFocusReturn } from './focus.ts'
import { asking, type Step } from './leaving.ts'
import { useLast } from './use-last.ts'

const QUESTIONS = {
  typed: { title: 'Leave without saving?', text: 'What you have typed is not saved.' },
  outcome: {
    title: 'Leave before it is done?',
    text: 'The change is under way. Leaving does not stop it, and what comes of it is not shown here any more.',
  },
  secret: {
    title: 'Leave without copying?',
    text: 'What is shown here has not been copied, and perhaps nobody can be shown it again.',
  },
}

/** What would be lost. */
export type Loss = keyof typeof QUESTIONS

interface LossProps {
  readonly loss: Loss | undefined
}

/** Tells the dialog around it. */
export const LossContext = createContext<((loss: Loss | undefined) => void) | undefined>(undefined)

/** In a dialog it is the dialog that asks, while it is open. */
export function BeforeLeaving({ loss }: LossProps) {
  const tellDialog = use(LossContext)
  useLayoutEffect(() => {
    tellDialog?.(loss)
    return () => tellDialog?.(undefined)
  }, [loss, tellDialog])
  return tellDialog ? null : <LeaveQuestion loss={loss} />
}

export function LeaveQuestion({ loss }: LossProps) {
  const [step, setStep] = useState<Step>()
  useEffect(() => {
    if (loss === undefined) return
    const ask = (leave: Step) => setStep(() => leave)
    asking.add(ask)
    return () => {
      asking.delete(ask)
      setStep(undefined)
    }
  }, [loss])
  const { status, proceed, reset } = useBlocker({
    // A change within the same view, such as another filter, leaves everything where it is.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname,
    disabled: loss === undefined,
    withResolver: true,
  })
  // Nothing can be lost any more: what came of it can be looked at.
  useEffect(() => {
    if (loss === undefined) reset?.()
  }, [loss, reset])
  const isOpen = status === 'blocked' || step !== undefined
  const { last = 'typed' } = useLast(loss)
  const { title, text } = QUESTIONS[last]
  const stay = () => {
    setStep(undefined)
    reset?.()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={stay}
      {...useFocusReturn(isOpen)}
      title={title}
      zIndex={300}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack gap="md">
        <Text size="sm">{text}</Text>
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={stay} data-autofocus>
            Stay
          </Button>
          <Button color="red" onClick={step ?? proceed}>
            Leave
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
