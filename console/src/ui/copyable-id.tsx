// An id with a button that copies it.
import { Group, Text } from '@mantine/core'
import { useCopy } from './copy.ts'
import { IconButton } from './row-buttons.tsx'
import text from './text.module.css'

/** `what` is what the id is, such as "Token id". */
export function CopyableId({ id, what }: { id: string; what: string }) {
  const { copied, copy } = useCopy(id, what)
  return (
    <Group gap={4} wrap="nowrap" fz="sm">
      <Text component="code" c="dimmed" fz="0.92em" className={text.name}>
        {id}
      </Text>
      <IconButton icon={copied ? 'check' : 'copy'} label={`Copy ${what.toLowerCase()}`} onClick={copy} />
    </Group>
  )
}
