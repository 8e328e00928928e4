// What a dialog says to the changes and the contents within it.
import { createContext } from 'react'

export interface DialogFrame {
  /** Identifies the changes that were started in this dialog. */
  readonly mutationKey: readonly unknown[]
  readonly busy: boolean
  readonly leave: () => void
  readonly retitle: (title: string | undefined) => void
}

export const DialogContext = createContext<DialogFrame | undefined>(undefined)
