// The question before one change that ends something: what it means, what it is made to, and the button that makes it.
import { Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { LatchkeyClient } from '../../../client/latchkey-client.ts'
import type { Identified, Kind } from '../api/queries.ts'
import { useChange } from '../api/use-change.tsx'
import { ChangeButtons, type ChangeButtonsProps, Dialog } from './dialog.tsx'
import { type Fact, Facts } from './facts.tsx'
import { useToast } from './toasts.tsx'
import { Warning } from './warning.tsx'

interface Asked {
  readonly text: ReactNode
  readonly warning?: string | false
  readonly facts?: readonly Fact[]
  /** What the button says. */
  readonly verb: string
  /** Red unless it is given. */
  readonly color?: string
}

export interface Question extends Asked {
  readonly title: string
  readonly kind: Kind
  /** The name of what is changed, for the message about a failure. */
  readonly name: string
  readonly send: (client: LatchkeyClient) => Promise<Identified>
  /** The message about its success. */
  readonly done: ReactNode
}

interface ConfirmDialogProps<Shown> {
  readonly shown: Shown | undefined
  readonly questionOf: (shown: Shown) => Question
  readonly close: () => void
  /** Instead of `close`, once it is done. */
  readonly onDone?: () => void
}

export function ConfirmDialog<Shown>({ shown, questionOf, close, onDone = close }: ConfirmDialogProps<Shown>) {
  return (
    <Dialog shown={shown} titleOf={(of) => questionOf(of).title} close={close}>
      {(of) => <Confirm question={questionOf(of)} onDone={onDone} />}
    </Dialog>
  )
}

function Confirm({ question, onDone }: { readonly question: Question; readonly onDone: () => void }) {
  const { kind, name, send, done } = question
  const toast = useToast()
  const change = useChange({ kind, name, send, onDone: () => toast({ text: done }) })
  return <Confirmation {...question} change={change} run={() => change.mutate(undefined, { onSuccess: onDone })} />
}

/** The same within a dialog, for a change of another kind. */
export function Confirmation(props: Asked & Pick<ChangeButtonsProps, 'change' | 'run'>) {
  const { text, warning, facts, verb, color = 'red', change, run } = props
  return (
    <Stack gap="md">
      <Text size="sm">{text}</Text>
      {warning && <Warning>{warning}</Warning>}
      {facts && <Facts facts={facts} />}
      <ChangeButtons change={change} run={run} color={color}>
        {verb}
      </ChangeButtons>
    </Stack>
  )
}
