// A text to be searched: pasted, dropped, or from files.
import { Button, FileButton, Group, Stack, Text, Textarea } from '@mantine/core'
import { type DragEvent, type FormEvent, useState } from 'react'
import surface from '../ui/surface.module.css'

/** So that no credential seems to begin in one file and to end in the next. */
const BETWEEN_FILES = '\n'

export function TextForm({ onText }: { onText: (text: Blob) => void }) {
  const [typed, setTyped] = useState('')
  const [isOver, setOver] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typed !== '') onText(new Blob([typed]))
  }
  const takeFiles = (files: Iterable<File>) => {
    const parts = [...files].flatMap((file) => [file, BETWEEN_FILES])
    if (parts.length > 0) onText(new Blob(parts))
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    takeFiles(event.dataTransfer.files)
  }
  return (
    <form
      onSubmit={submit}
      onDrop={drop}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
    >
      <Stack gap="md" maw={880}>
        <Text size="sm">
          Any text that a credential may stand in: a log, a diff, a message, the report of a scanner. Credentials of
          this account are found as they are, percent-encoded and in base64, former ones that still work too. Imported
          ones are found as whole words. First you see whose they are; nothing is switched off before you say so.
        </Text>
        <Textarea
          label="Text"
          description="Sent to the service, and stored nowhere"
          placeholder="Paste it here, or drop files"
          rows={12}
          autoComplete="off"
          spellCheck={false}
          className={isOver ? surface.choice : undefined}
          data-selected={isOver || undefined}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Group gap="sm">
          <Button type="submit" disabled={typed === ''}>
            Find credentials
          </Button>
          <FileButton multiple onChange={takeFiles}>
            {(props) => (
              <Button variant="default" {...props}>
                Choose files…
              </Button>
            )}
          </FileButton>
        </Group>
      </Stack>
    </form>
  )
}
