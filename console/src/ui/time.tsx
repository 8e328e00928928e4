// Times on screen. The exact time is in the tooltip, and in the attribute for programs that read the page.
import { useSyncExternalStore } from 'react'
import { exactTime, moment, relativeTime } from './format.ts'
import classes from './text.module.css'

const TICK_MS = 20_000
const listeners = new Set<() => void>()
let now = Date.now()
let ticking: ReturnType<typeof setInterval> | undefined

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  now = Date.now()
  ticking ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(ticking)
    ticking = undefined
  }
}

/** One clock for the page, so that all its "minutes ago" agree. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now)
}

/** Such as "2 days ago"; `none` where there is no time. */
export function RelativeTime({ at, none }: { at: string | null; none?: string }) {
  const present = useNow()
  if (at === null) return <span className={classes.dim}>{none}</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {relativeTime(at, present)}
    </time>
  )
}

/** The day and hour, for a sentence in which "in 2 days" would change its meaning as time passes. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {moment(at)}
    </time>
  )
}
