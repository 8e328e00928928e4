// What an account keeps about a thing for itself, as it has sent it.
import { Code } from '@mantine/core'

export function Metadata({ value }: { value: Readonly<Record<string, unknown>> | null }) {
  return value === null ? 'None' : <Code block>{JSON.stringify(value, null, 2)}</Code>
}
