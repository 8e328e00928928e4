// What an account keeps about a thing for itself: as it has sent it, and as a text that is edited.
import { Code, Textarea, type TextareaProps } from '@mantine/core'
import { isObject } from '../../../src/tokens/verify/is-object.ts'
import text from './text.module.css'

export type MetadataObject = Readonly<Record<string, unknown>>

export function Metadata({ value }: { value: MetadataObject | null }) {
  return value === null ? <span className={text.dim}>None</span> : <Code block>{metadataText(value)}</Code>
}

type Shown = Pick<TextareaProps, 'label' | 'aria-label' | 'description' | 'error' | 'autoFocus'>

interface MetadataInputProps extends Shown {
  readonly value?: string
  readonly onChange?: (event: never) => void
}

export function MetadataInput(props: MetadataInputProps) {
  return (
    <Textarea
      rows={Math.min(16, Math.max(4, props.value?.split('\n').length ?? 0))}
      placeholder='{ "team": "billing" }'
      autoComplete="off"
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
      {...props}
    />
  )
}

export const metadataText = (value: MetadataObject | null): string =>
  value === null ? '' : JSON.stringify(value, null, 2)

/** Null for an empty text, or of one that `metadataProblem` finds fault with. */
export function metadataOf(typed: string): MetadataObject | null {
  return metadataProblem(typed) === undefined && typed.trim() !== '' ? JSON.parse(typed) : null
}

export function metadataProblem(typed: string): string | undefined {
  if (typed.trim() === '') return undefined
  try {
    return isObject(JSON.parse(typed) as unknown) ? undefined : 'Metadata is a JSON object, between { and }'
  } catch (error) {
    return `This is not JSON: ${error instanceof Error ? error.message : error}`
  }
}
