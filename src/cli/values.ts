// Values given on the command line, held to the same rules as those that come over HTTP.
import { InvalidArgumentError } from 'commander'
import { emailField, type FieldReader, nameField, statusField } from '../tokens/fields.ts'
import { brokenCredentialRule } from '../tokens/operator.ts'

const valid =
  <Value>(read: FieldReader<Value>) =>
  (text: string): Value => {
    const result = read(text, 'It')
    if (result.state !== 'valid') throw new InvalidArgumentError(`${result.message}.`)
    return result.value
  }

export const readName = valid(nameField)
export const readEmail = valid(emailField)
export const readStatus = valid(statusField)

export function readNewCredential(text: string): string {
  const rule = brokenCredentialRule(text)
  if (rule !== undefined) throw new InvalidArgumentError(`It ${rule}.`)
  return text
}
