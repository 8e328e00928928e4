// Saves everything that the filters of a list match as CSV. It can be called off, and ends when its view is left.
import { Button, Group } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { codeOf, shortReason } from '../api/errors.ts'
import { useConnection } from '../api/session.tsx'
import { BusyButton } from '../ui/busy-button.tsx'
import { keepFocusOnRemoval } from '../ui/focus.ts'
import { number } from '../ui/format.ts'
import { useToast } from '../ui/toasts.tsx'
import { saveCsv, TooLarge } from './save-csv.ts'

export interface ExportButtonProps {
  /** Begins the name of the file. */
  readonly name: string
  /** Below `/api/v1/apiClient/`, with the filters that are set. Asked at the click: ranges move with the clock. */
  readonly list: () => { readonly path: string; readonly params: object }
}

export function ExportButton({ name, list }: ExportButtonProps) {
  const connection = useConnection()
  const toast = useToast()
  const [bytes, setBytes] = useState<number>()
  const stop = useRef<AbortController>(undefined)
  useEffect(() => () => stop.current?.abort(), [])

  async function start() {
    const controller = new AbortController()
    stop.current = controller
    const { path, params } = list()
    const fileName = `${name}-${new Date().toISOString().slice(0, 10)}.csv`
    setBytes(0)
    try {
      await saveCsv(connection, { path, params: { ...params }, fileName }, controller.signal, setBytes)
      toast({ text: 'The list is exported' })
    } catch (error) {
      if (!isCalledOff(error)) toast({ text: `The list is not exported: ${reasonOf(error)}`, tone: 'bad' })
    } finally {
      setBytes(undefined)
    }
  }

  const isBusy = bytes !== undefined
  return (
    <Group gap="xs">
      <BusyButton variant="default" busy={isBusy} onClick={() => void start()}>
        {isBusy && bytes >= 100_000 ? `Exporting, ${number(Math.floor(bytes / 100_000) / 10)} MB` : 'Export'}
      </BusyButton>
      {isBusy && (
        <Button ref={keepFocusOnRemoval} variant="subtle" onClick={() => stop.current?.abort()}>
          Cancel export
        </Button>
      )}
    </Group>
  )
}

/** Also by closing the browser's question for a file. */
const isCalledOff = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError'

function reasonOf(error: unknown): string {
  if (error instanceof TooLarge) return error.message
  // Of a connection that broke off, the message says that nothing is saved.
  return codeOf(error) === 'unreachable' ? (error as Error).message : shortReason(error)
}
