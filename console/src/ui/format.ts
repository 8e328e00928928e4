// Times, counts and secrets as text.

const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const DAY_PARTS = { day: 'numeric', month: 'short', year: 'numeric' } as const
const DAY = new Intl.DateTimeFormat('en-GB', DAY_PARTS)
const UTC_DAY = new Intl.DateTimeFormat('en-GB', { ...DAY_PARTS, timeZone: 'UTC' })
const MOMENT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const EXACT = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'long' })
const NUMBER = new Intl.NumberFormat('en')

const DAY_MS = 86_400_000

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['hour', 3_600_000],
  ['minute', 60_000],
]

/** Within a month as a distance, beyond it as a date. */
export function relativeTime(iso: string, now: number): string {
  const time = Date.parse(iso)
  const distance = time - now
  if (Math.abs(distance) > 31 * DAY_MS) return DAY.format(time)
  if (Math.abs(distance) >= DAY_MS) return RELATIVE.format(calendarDay(time) - calendarDay(now), 'day')
  for (const [unit, size] of STEPS) {
    if (Math.abs(distance) >= size) return RELATIVE.format(Math.trunc(distance / size), unit)
  }
  return distance > 0 ? 'in a moment' : 'just now'
}

/** The number of the day in the reader's time zone: "tomorrow" is the next one, however many hours away. */
function calendarDay(time: number): number {
  const date = new Date(time)
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / DAY_MS
}

/** In the reader's time zone, and to the millisecond as stored. */
export const exactTime = (iso: string): string => `${EXACT.format(Date.parse(iso))} (${iso})`

export const moment = (iso: string): string => MOMENT.format(Date.parse(iso))

export const day = (iso: string): string => DAY.format(Date.parse(iso))

/** In the reader's time zone, as the browser's field for a time has it. */
export function localTime(iso: string): string {
  const time = new Date(iso)
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** As its field for a day has it. */
export const localDay = (iso: string): string => localTime(iso).slice(0, 10)

/** For bounds that are days in UTC: elsewhere they may fall on the day before or after. */
export const utcDay = (iso: string): string => UTC_DAY.format(Date.parse(iso))

export const number = (value: number): string => NUMBER.format(value)

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** A secret of this service or its masked form, which must not be put into an address. */
export const isSecret = (text: string): boolean => /\blk_[a-z]+_|\bwhsec_|^…\S{4}$/.test(text)

/** The service may send only the ends of a credential, as in `lk_tok_…D7wZ`. */
export const isMasked = (credential: string): boolean => credential.includes('…')

const SHOWN_END = 4
/** Of a shorter one, four characters would be too much of it. */
const SHORTEST_WITH_END = 16

/** As the service masks it: the kind, an ellipsis, and the last four. */
export function masked(credential: string): string {
  if (credential === '' || isMasked(credential)) return credential
  const kind = /^(lk_[a-z]+|whsec)_/.exec(credential)?.[0] ?? ''
  return `${kind}…${credential.length < SHORTEST_WITH_END ? '' : credential.slice(-SHOWN_END)}`
}
