// One history entry as a sentence: who did what to what. Things are called by their names, or by their ids without one.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { HistoryEntry } from '../../../client/latchkey-client.ts'
import type { Rights } from '../api/permissions.ts'
import { type Policy, policyChanges } from '../policy/words.ts'
import { plural } from '../ui/format.ts'
import { Name } from '../ui/name.tsx'
import { say, together } from '../ui/say.ts'
import text from '../ui/text.module.css'
import { Moment } from '../ui/time.tsx'
import { shortId } from './history-search.ts'

export type Names = Readonly<Record<string, string>>

/** What things were called at the time of the entry, and which of them a link can lead to. */
interface Known {
  readonly names: Names
  readonly isLinked: (id: string) => boolean
}

interface SentenceProps {
  readonly entry: HistoryEntry
  /** Of what exists now. */
  readonly names: Names
  /** What the page is about needs no link. */
  readonly ownId: string | undefined
}

export function Sentence({ entry, names: present, ownId }: SentenceProps) {
  const names = { ...present, ...namesThen(entry) }
  const known = { names, isLinked: (id: string) => id in present && id !== ownId }
  return say`${who(entry.by, known)} ${did(entry, known)}`
}

/** The names at the time of the entry; entries of earlier versions have none. */
function namesThen({ by, byName, subject, subjectName, to }: HistoryEntry): Names {
  const known = [
    [by, byName],
    [subject, subjectName],
    [to.subAccountId, to.subAccountName],
  ]
  return Object.fromEntries(known.filter(([, name]) => typeof name === 'string'))
}

function who(by: string, known: Known): ReactNode {
  if (by === 'operator') return 'The operator'
  if (by.startsWith('key_')) return <>Account key {called(by, known)}</>
  return <Name>{known.names[by] ?? shortId(by)}</Name>
}

/** The name, else the one in the entry, else the id: what is deleted may have no name any more. */
function called(id: string, { names, isLinked }: Known, inEntry?: unknown): ReactNode {
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

function did({ action, subject, from, to }: HistoryEntry, known: Known): ReactNode {
  const it = called(subject, known, to.name ?? from.name)
  switch (action) {
    case 'account.create':
      return 'made this account'
    case 'account.rename':
      return say`renamed this account ${fromTo(from.name, to.name)}`
    case 'account.update':
      return accountUpdate(to)
    case 'key.create':
      return say`made the account key ${it}${keyRights(to.permissions, known)}`
    case 'key.revoke':
      return say`revoked the account key ${it}`
    case 'session.sign-in':
      return 'signed in to the console'
    case 'session.choose':
      return 'chose this account in the console'
    case 'session.sign-out':
      return 'signed out of the console'
    case 'session.revoke':
      return say`signed ${it} out of the console`
    case 'sub-account.create':
      return say`created the sub-account ${it}${withPolicy(to.policy)}`
    case 'sub-account.update':
      return subAccountUpdate(it, from, to)
    case 'token.create':
      return tokenCreate(it, to, known)
    case 'token.update':
      return tokenUpdate(it, from, to)
    case 'token.rotate':
      return tokenRotate(it, to)
    case 'token.reveal':
      return say`was shown the credential of ${it}`
    case 'token.erase':
      return say`erased the stored credential of ${it}, which goes on working`
    case 'token.delete':
      return say`deleted the token ${it}`
    case 'token.expiring':
      return say`announced that the token ${it} expires within ${plural(Number(to.days), 'day')}`
    case 'webhook.create':
      return say`created the webhook ${it}`
    case 'webhook.update':
      return say`changed the webhook ${it}`
    case 'webhook.rotate':
      return say`gave the webhook ${it} a new secret`
    case 'webhook.redeliver':
      return say`had an event sent to the webhook ${it} again`
    case 'webhook.skip':
      return say`skipped an event for the webhook ${it}`
    case 'webhook.disabled':
      return say`switched the webhook ${it} off`
    case 'webhook.delete':
      return say`deleted the webhook ${it}`
  }
}

type Fields = HistoryEntry['to']

function accountUpdate({ credentials }: Fields): ReactNode {
  if (credentials === 'once') return 'had credentials of this account shown once and not stored'
  if (credentials === null) return 'had new credentials of this account stored, so that they can be shown again'
  return 'changed this account'
}

/** Keys of earlier versions, and those that may do everything, have no rights in their entry. */
function keyRights(value: Value, known: Known): ReactNode {
  if (typeof value !== 'object' || value === null) return null
  const { role, reveal, subAccounts } = value as Partial<Rights>
  const sees = Array.isArray(subAccounts) && say`, sees only ${subAccountsOf(subAccounts, known)}`
  return say`: ${role}, ${reveal ? 'shows credentials' : 'shows no credentials'}${sees}`
}

function subAccountsOf(ids: readonly string[], known: Known): ReactNode {
  if (!ids.every((id) => id in known.names)) return plural(ids.length, 'sub-account')
  return joined(ids.map((id) => called(id, known)))
}

function tokenCreate(it: ReactNode, to: Fields, known: Known): ReactNode {
  return together([
    say`created the ${to.status === 'inactive' && 'inactive '}token ${it}`,
    typeof to.subAccountId === 'string' && say` for ${called(to.subAccountId, known)}`,
    typeof to.expiresAt === 'string' && say`, expiring ${<Moment at={to.expiresAt} />}`,
    Array.isArray(to.tags) && say`, with ${tagWords(to.tags)}`,
    withPolicy(to.policy),
  ])
}

function tokenUpdate(it: ReactNode, from: Fields, to: Fields): ReactNode {
  const parts: ReactNode[] = []
  if (to.status === 'inactive') parts.push(say`disabled the token ${it}`)
  if (to.status === 'active') parts.push(say`enabled the token ${it}`)
  if (to.name !== undefined) parts.push(renamed('token', from.name, it))
  if (to.tags !== undefined) parts.push(...tagChanges(it, from.tags, to.tags))
  parts.push(...policyAndMetadata(it, from, to))
  if (to.expiresAt === null) parts.push(say`removed the expiry of ${it}`)
  if (typeof to.expiresAt === 'string') parts.push(say`set the expiry of ${it} to ${<Moment at={to.expiresAt} />}`)
  return joined(parts.length === 0 ? [say`changed the token ${it}`] : parts)
}

function tokenRotate(it: ReactNode, to: Fields): ReactNode {
  const until = to.formerCredentialUntil
  const former = typeof until === 'string' ? say`works until ${<Moment at={until} />}` : 'stopped at once'
  return say`gave the token ${it} a new credential; the former one ${former}`
}

function subAccountUpdate(it: ReactNode, from: Fields, to: Fields): ReactNode {
  const parts: ReactNode[] = []
  if (to.suspendedAt === null) parts.push(say`resumed the sub-account ${it}`)
  else if (to.suspendedAt !== undefined) parts.push(say`suspended the sub-account ${it}`)
  if (to.name !== undefined) parts.push(renamed('sub-account', from.name, it))
  if (to.companyName !== undefined) {
    parts.push(say`changed the company of ${it} ${fromTo(from.companyName, to.companyName)}`)
  }
  if (to.email !== undefined) parts.push(say`changed the e-mail address of ${it} ${fromTo(from.email, to.email)}`)
  parts.push(...policyAndMetadata(it, from, to))
  return joined(parts.length === 0 ? [say`changed the sub-account ${it}`] : parts)
}

/** What tokens and sub-accounts have in common. */
function policyAndMetadata(it: ReactNode, from: Fields, to: Fields): readonly ReactNode[] {
  const parts: ReactNode[] = []
  if (to.policy !== undefined) {
    const changes = policyChanges(policyOf(from.policy), policyOf(to.policy))
    parts.push(say`changed the policy of ${it}${changes.length > 0 && `: ${changes.join('; ')}`}`)
  }
  if (to.metadata !== undefined) parts.push(say`changed the metadata of ${it}`)
  return parts
}

const policyOf = (value: Value): Policy | null => (typeof value === 'object' ? (value as Policy | null) : null)

function withPolicy(policy: Value): ReactNode {
  const allows = policyChanges(null, policyOf(policy))
  return allows.length > 0 && `; its policy: ${allows.join('; ')}`
}

const tagsOf = (value: Value): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

function tagChanges(it: ReactNode, before: Value, after: Value): readonly ReactNode[] {
  const [from, to] = [tagsOf(before), tagsOf(after)]
  const added = to.filter((tag) => !from.includes(tag))
  const removed = from.filter((tag) => !to.includes(tag))
  if (added.length + removed.length === 0) return [say`reordered the tags of ${it}`]
  const parts: ReactNode[] = []
  if (added.length > 0) parts.push(say`gave ${it} ${tagWords(added)}`)
  if (removed.length > 0) parts.push(say`took ${tagWords(removed)} from ${it}`)
  return parts
}

function tagWords(tags: readonly string[]): ReactNode {
  const names = tags.map((tag) => <Name key={tag}>{tag}</Name>)
  return say`the ${tags.length === 1 ? 'tag' : 'tags'} ${together(names, ', ')}`
}

type Value = Fields[string] | undefined

/** `it` has the new name. */
const renamed = (what: string, from: Value, it: ReactNode): ReactNode =>
  say`renamed the ${what} from ${<Name>{String(from)}</Name>} to ${it}`

const fromTo = (from: Value, to: Value): ReactNode =>
  say`from ${<Name>{String(from)}</Name>} to ${<Name>{String(to)}</Name>}`

const joined = (parts: readonly ReactNode[]): ReactNode => together(parts, ' and ')
