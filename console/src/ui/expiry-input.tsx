// When something that is about to be made expires: after some days, at a time of choice, or never.
import { NativeSelect, TextInput } from '@mantine/core'
import type { GetInputPropsReturnType } from '@mantine/form'

const DAY_MS = 24 * 60 * 60 * 1000

const EXPIRIES = [
  { value: '', label: 'Never' },
  { value: '7', label: 'In 7 days' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
  { value: 'at', label: 'At a time of my choice' },
]

/** Fields of a form. */
export interface Expiry {
  readonly expiresAt: string
  /** As the browser's field has it: a time in the reader's time zone. */
  readonly at: string
}

interface ExpiryInputProps {
  /** The properties that the form gives to its fields `expiresAt` and `at`. */
  readonly choice: GetInputPropsReturnType
  readonly time: GetInputPropsReturnType
  /** What is wrong with a time that is past; false for another one. */
  readonly past: string | false
}

export function ExpiryInput({ choice, time, past }: ExpiryInputProps) {
  return (
    <>
      <NativeSelect label="Expires" data={EXPIRIES} {...choice} />
      {choice.value === 'at' && (
        <TextInput type="datetime-local" label="Time of expiry, in your zone" required {...time} error={past} />
      )}
    </>
  )
}

/** A time within the present minute counts as past: it would be over before the service has answered. */
export function isPastTime({ expiresAt, at }: Expiry, now: number): boolean {
  return expiresAt === 'at' && Date.parse(at) < now + 60_000
}

/** For the service, which says what is wrong with a time that is none. */
export function timeOf({ expiresAt, at }: Expiry, now: number): string | null {
  if (expiresAt === '') return null
  if (expiresAt === 'at') return Number.isNaN(Date.parse(at)) ? at : new Date(at).toISOString()
  return new Date(now + Number(expiresAt) * DAY_MS).toISOString()
}
