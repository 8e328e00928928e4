// Small pieces that several views share: names, times, marks, links.
import { type MouseEvent, type ReactNode, useState, useSyncExternalStore } from 'react'
import type { SubAccount, Token } from '../../client/latchkey-client.ts'
import { follow } from './address.ts'
import { Icon, type IconName } from './icon.tsx'
import { exactTime, moment, when } from './words.ts'

/** A name is data: text only, and its direction stays its own affair. */
export function Name({ children, clip = false }: { children: string; clip?: boolean }) {
  return (
    <bdi className={clip ? 'name clip' : 'name'} title={clip ? children : undefined}>
      {children}
    </bdi>
  )
}

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

/** The distance in words; the exact time on hover, and for whoever reads the page by machine. */
export function When({ at, none }: { at: string | null; none?: string }) {
  const present = useNow()
  if (at === null) return <span className="dim">{none}</span>
  return (
    <time dateTime={at} title={exactTime(at)}>
      {when(at, present)}
    </time>
  )
}

/** The day itself, for a sentence in which a distance would change its meaning with time. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={exactTime(at)}>
      {moment(at)}
    </time>
  )
}

/** What a dialog showed last stays while it fades; `turn` counts the openings, so that each begins anew. */
export function useLast<Value>(value: Value | undefined): { readonly last: Value | undefined; readonly turn: number } {
  const [state, setState] = useState({ last: value, turn: 0 })
  if (value !== undefined && value !== state.last) setState({ last: value, turn: state.turn + 1 })
  return state
}

/** What became of the thing with this name, for a message. */
export function Outcome({ name, what }: { name: string; what: string }) {
  return (
    <>
      <Name>{name}</Name> {what}
    </>
  )
}

export type Mark = 'active' | 'inactive' | 'expired' | 'suspended'

const MARKS: Readonly<Record<Mark, { readonly label: string; readonly title: string }>> = {
  active: { label: 'Active', title: 'Authenticates' },
  inactive: { label: 'Inactive', title: 'Disabled: does not authenticate' },
  expired: { label: 'Expired', title: 'Its status is active, but its time is over: it does not authenticate' },
  suspended: { label: 'Suspended', title: 'Its sub-account is suspended: it does not authenticate' },
}

export function StatusMark({ mark }: { mark: Mark }) {
  const { label, title } = MARKS[mark]
  return (
    <span className={`status status-${mark}`} title={title}>
      {label}
    </span>
  )
}

/** The token's own status decides first, as at verification: `details` may be of an earlier answer than `status`. */
export const markOf = ({ status, details }: Token): Mark =>
  status === 'inactive' ? 'inactive' : (details?.effectiveStatus ?? status)

export function SubAccountMark({ subAccount }: { subAccount: SubAccount }) {
  return subAccount.status === 'active' ? (
    <span className="status status-active">Active</span>
  ) : (
    <span className="status status-suspended" title="None of its tokens authenticates">
      Suspended
    </span>
  )
}

export function Link({ href, label, children, className }: LinkProps) {
  return (
    <a href={href} onClick={follow} aria-label={label} className={className ?? 'link'}>
      {children}
    </a>
  )
}

interface LinkProps {
  readonly href: string
  /** Read out instead of the content, where that alone would not say where the link leads. */
  readonly label?: string
  readonly children: ReactNode
  readonly className?: string
}

interface IconButtonProps {
  readonly icon: IconName
  readonly label: string
  readonly onClick: (event: MouseEvent<HTMLButtonElement>) => void
  readonly id?: string
  readonly pressed?: boolean
  readonly expanded?: boolean
}

/** Plain, unlike Mantine's: a page of a hundred rows has five hundred of them. */
export function IconButton({ icon, label, onClick, id, pressed, expanded }: IconButtonProps) {
  return (
    <button
      type="button"
      className="icon-button"
      id={id}
      aria-label={label}
      aria-pressed={pressed}
      aria-expanded={expanded}
      aria-haspopup={expanded === undefined ? undefined : 'menu'}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  )
}

/** What a dialog shows about the thing it will change. */
export function Facts({ rows }: { rows: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="facts">
      {rows.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
