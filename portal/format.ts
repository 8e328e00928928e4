// Times and counts as text.
import { element } from './elements.ts'

const DAY_PARTS = { day: 'numeric', month: 'short', year: 'numeric' } as const
const DAY = new Intl.DateTimeFormat('en-GB', DAY_PARTS)
const UTC_DAY = new Intl.DateTimeFormat('en-GB', { ...DAY_PARTS, timeZone: 'UTC' })
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })
const NUMBER = new Intl.NumberFormat('en')

export const moment = (iso: string): string => MOMENT.format(Date.parse(iso))

/** Usage is counted by days of UTC. */
export const utcDay = (iso: string): string => UTC_DAY.format(Date.parse(iso))

export const number = (value: number): string => NUMBER.format(value)

export const plural = (count: number, one: string): string => `${number(count)} ${count === 1 ? one : `${one}s`}`

/** Null is never. */
export function day(iso: string | null): HTMLElement | string {
  if (iso === null) return 'Never'
  return element('time', { datetime: iso, title: EXACT.format(Date.parse(iso)) }, DAY.format(Date.parse(iso)))
}
