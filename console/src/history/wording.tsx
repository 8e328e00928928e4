// What history entries say, in words and links. Things are called by their names, or by their ids without one.
import { Link } from '@tanstack/react-router'
import type { ReactElement, ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import type { Rights } from '../api/permissions.ts'
import { BULK_ACTIONS, isBulkAction } from '../operations/operation-words.ts'
import { type Policy, policyChanges } from '../policy/words.ts'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { say, together } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { Moment } from '../ui/time.tsx'

export type Names = Readonly<Record<string, string>>

/** What things were called at the time of the entry, and which of them a link can lead to. */
export interface Known {
  readonly names: Names
  readonly isLinked: (id: string) => boolean
}

/** Not a ReactNode, which could be nothing: an entry always says something. */
export type Words = string | ReactElement

/** The name, else the one in the entry, else the id: what is deleted may have no name any more. */
export function called(id: string, { names, isLinked }: Known, inEntry?: unknown): ReactNode {
  const name = names[id] ?? inEntry
  if (typeof name !== 'string') return <code title="It no longer exists">{id}</code>
  return isLinked(id) ? linkTo(id, name) : <Name>{name}</Name>
}

/** To a token or a sub-account; nothing else has a page of its own. */
export function linkTo(id: string, name: string): ReactNode {
  const shown = <Name>{name}</Name>
  if (id.startsWith('tok_')) {
    return (
      <Link to="/tokens/$tokenId" params={{ tokenId: id }} className={text.link}>
        {shown}
      </Link>
    )
  }
  if (!id.startsWith('sub_')) return shown
  return (
    <Link to="/sub-accounts/$subAccountId" params={{ subAccountId: id }} className={text.link}>
      {shown}
    </Link>
  )
}

/** To the page of a bulk operation. */
export function operationLink(id: string, words: string): ReactElement {
  return (
    <Link to="/history/operations/$operationId" params={{ operationId: id }} className={text.linkInText}>
      {words}
    </Link>
  )
}

export type Fields = HistoryEntry['to']

export const bulkOrder = ({ subject, to }: HistoryEntry): Words =>
  say`ordered ${operationLink(subject, 'a bulk operation')}: ${String(to.action)} ${plural(Number(to.total), 'token')}`

export const bulkUndo = ({ subject, to }: HistoryEntry): Words =>
  say`ordered the undo of ${operationLink(subject, 'a bulk operation')}, which had ${doneTo(String(to.action))} ${plural(Number(to.done), 'token')}`

const doneTo = (action: string): string => (isBulkAction(action) ? BULK_ACTIONS[action].done : 'changed')

export function accountUpdate({ credentials }: Fields): Words {
  if (credentials === 'once') return 'had credentials of this account shown once and not stored'
  if (credentials === null) return 'had new credentials of this account stored, so that they can be shown again'
  return 'changed this account'
}

/** Keys of earlier versions, and those that may do everything, have no rights in their entry. */
export function keyRights(value: Value, known: Known): ReactNode {
  if (typeof value !== 'object' || value === null) return null
  const { role, reveal, subAccounts } = value as Partial<Rights>
  const sees = Array.isArray(subAccounts) && say`, sees only ${subAccountsOf(subAccounts, known)}`
  return say`: ${role}, ${reveal ? 'shows credentials' : 'shows no credentials'}${sees}`
}

function subAccountsOf(ids: readonly string[], known: Known): ReactNode {
  if (!ids.every((id) => id in known.names)) return plural(ids.length, 'sub-account')
  return together(
    ids.map((id) => called(id, known)),
    ' and ',
  )
}

/** Nothing is known of the person, but the id of the session, of which the end is shown. */
export const portalActor = (session: string): string => `Somebody in the portal (…${session.slice(-4)})`

export function portalOpened(it: ReactNode, { session, may, origin, expiresAt }: Fields): Words {
  return together([
    say`opened the portal (…${String(session).slice(-4)}) to ${it}`,
    Array.isArray(may) && say`, to ${may.join(', ')}`,
    typeof origin === 'string' && say`, from ${<Name>{origin}</Name>}`,
    typeof expiresAt === 'string' && say`, until ${<Moment at={expiresAt} />}`,
  ])
}

export function tokenCreate(it: ReactNode, to: Fields, known: Known): Words {
  return together([
    say`created the ${to.status === 'inactive' && 'inactive '}token ${it}`,
    typeof to.subAccountId === 'string' && say` for ${called(to.subAccountId, known)}`,
    typeof to.expiresAt === 'string' && say`, expiring ${<Moment at={to.expiresAt} />}`,
    Array.isArray(to.tags) && say`, with ${tagWords(to.tags)}`,
    withPolicy(to.policy),
  ])
}

/** One thing that a change did, of several: only the first says in full what was changed. */
type Part = (it: ReactNode) => Words

const joined = (parts: readonly Part[], it: ReactNode, again: ReactNode): Words =>
  together(
    parts.map((part, at) => part(at === 0 ? it : again)),
    ' and ',
  )

export function tokenUpdate(name: ReactNode, again: ReactNode, from: Fields, to: Fields): Words {
  const parts: Part[] = []
  if (to.status === 'inactive') parts.push((it) => say`disabled the token ${it}`)
  if (to.status === 'active') parts.push((it) => say`enabled the token ${it}`)
  if (to.name !== undefined) parts.push(renamed('token', from.name))
  if (to.tags !== undefined) parts.push(...tagChanges(from.tags, to.tags))
  parts.push(...policyAndMetadata(from, to))
  const { expiresAt } = to
  if (expiresAt === null) parts.push((it) => say`removed the expiry of ${it}`)
  if (typeof expiresAt === 'string') parts.push((it) => say`set the expiry of ${it} to ${<Moment at={expiresAt} />}`)
  if (parts.length === 0) parts.push((it) => say`changed the token ${it}`)
  return joined(parts, name, again)
}

export function tokenRotate(it: ReactNode, to: Fields): Words {
  const until = to.formerCredentialUntil
  const former = typeof until === 'string' ? say`works until ${<Moment at={until} />}` : 'stopped at once'
  return say`gave the token ${it} a new credential; the former one ${former}`
}

export function subAccountUpdate(name: ReactNode, again: ReactNode, from: Fields, to: Fields): Words {
  const parts: Part[] = []
  if (to.suspendedAt === null) parts.push((it) => say`resumed the sub-account ${it}`)
  else if (to.suspendedAt !== undefined) parts.push((it) => say`suspended the sub-account ${it}`)
  if (to.name !== undefined) parts.push(renamed('sub-account', from.name))
  if (to.companyName !== undefined) {
    parts.push((it) => say`changed the company of ${it} ${fromTo(from.companyName, to.companyName)}`)
  }
  if (to.email !== undefined) {
    parts.push((it) => say`changed the e-mail address of ${it} ${fromTo(from.email, to.email)}`)
  }
  parts.push(...policyAndMetadata(from, to))
  if (parts.length === 0) parts.push((it) => say`changed the sub-account ${it}`)
  return joined(parts, name, again)
}

/** What tokens and sub-accounts have in common. */
function policyAndMetadata(from: Fields, to: Fields): readonly Part[] {
  const parts: Part[] = []
  if (to.policy !== undefined) {
    const changes = policyChanges(policyOf(from.policy), policyOf(to.policy))
    parts.push((it) => say`changed the policy of ${it}${changes.length > 0 && `: ${changes.join('; ')}`}`)
  }
  if (to.metadata !== undefined) parts.push((it) => say`changed the metadata of ${it}`)
  return parts
}

const policyOf = (value: Value): Policy | null => (typeof value === 'object' ? (value as Policy | null) : null)

export function withPolicy(policy: Value): ReactNode {
  const allows = policyChanges(null, policyOf(policy))
  return allows.length > 0 && `; its policy: ${allows.join('; ')}`
}

const tagsOf = (value: Value): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

function tagChanges(before: Value, after: Value): readonly Part[] {
  const [from, to] = [tagsOf(before), tagsOf(after)]
  const added = to.filter((tag) => !from.includes(tag))
  const removed = from.filter((tag) => !to.includes(tag))
  if (added.length + removed.length === 0) return [(it) => say`reordered the tags of ${it}`]
  const parts: Part[] = []
  if (added.length > 0) parts.push((it) => say`gave ${it} ${tagWords(added)}`)
  if (removed.length > 0) parts.push((it) => say`took ${tagWords(removed)} from ${it}`)
  return parts
}

function tagWords(tags: readonly string[]): ReactNode {
  const names = tags.map((tag) => <Name key={tag}>{tag}</Name>)
  return say`the ${tags.length === 1 ? 'tag' : 'tags'} ${together(names, ', ')}`
}

type Value = Fields[string] | undefined

/** `it` has the new name. */
const renamed =
  (what: string, from: Value): Part =>
  (it) =>
    say`renamed the ${what} from ${<Name>{String(from)}</Name>} to ${it}`

export const fromTo = (from: Value, to: Value): ReactNode =>
  say`from ${<Name>{String(from)}</Name>} to ${<Name>{String(to)}</Name>}`
