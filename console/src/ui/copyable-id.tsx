// An id with a button that copies it.
import { Group } from '@mantine/core'
import { useCopy } from './copy.ts'
import { IconButton } from './row-buttons.tsx'
import text from './text.module.css'

/** `what` is what the id is, such as "Token id". */
export function CopyableId({ id, what }: { id: string; what: string }) {
  const { copied, copy } = useCopy(id, what)
  return (
    <Group gap={4} wrap="nowrap" fz="sm">
      <code className={text.id}>{id}</code>
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy ${what.toLowerCase()}`} onClick={copy} />
    </Group>
  )
}
