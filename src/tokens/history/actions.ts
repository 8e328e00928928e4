// The kinds of change that the history has, which are also those of events, and what each of them does to access. The store, the lists of
// revocations and the feed of verifiers go by this alone.

interface Effect {
  /** It takes access away: always, or if it makes this field so. */
  readonly takesAccess?: 'always' | Readonly<Record<string, unknown>>
  /** Verifiers forget what they remember of the token, or of the sub-account's tokens. */
  readonly isForgotten?: true
}

/** Of a field: any value but null. */
export const ANY = Symbol('any')

const EFFECTS = {
  'account.create': {},
  'account.rename': {},
  'account.update': {},
  'key.create': {},
  'key.revoke': { takesAccess: 'always' },
  'session.sign-in': {},
  'session.choose': {},
  'session.sign-out': {},
  'session.revoke': { takesAccess: 'always' },
  'sub-account.create': {},
  'sub-account.update': { takesAccess: { suspendedAt: ANY }, isForgotten: true },
  'sub-account.portal': {},
  'sub-account.portal-end': { takesAccess: 'always' },
  'token.create': {},
  'token.update': { takesAccess: { status: 'inactive' }, isForgotten: true },
  'token.rotate': { takesAccess: 'always', isForgotten: true },
  'token.reveal': {},
  'token.erase': { isForgotten: true },
  'token.delete': { takesAccess: 'always', isForgotten: true },
  'token.expiring': {},
  'bulk.create': {},
  'bulk.undo': {},
  'webhook.create': {},
  'webhook.update': {},
  'webhook.rotate': {},
  'webhook.redeliver': {},
  'webhook.skip': {},
  'webhook.disabled': {},
  'webhook.delete': {},
} as const satisfies Readonly<Record<string, Effect>>

export type Action = keyof typeof EFFECTS
export const ACTIONS = Object.keys(EFFECTS) as readonly Action[]

const effectOf = (action: Action): Effect => EFFECTS[action]

export const FORGOTTEN_AFTER = ACTIONS.filter((action) => effectOf(action).isForgotten)

/** Those that take access away: always, or by a field. */
export const REVOKING = ACTIONS.flatMap((action) => {
  const { takesAccess } = effectOf(action)
  if (takesAccess === undefined) return []
  const [field, value] = takesAccess === 'always' ? [] : (Object.entries(takesAccess)[0] ?? [])
  return [{ action, field, value }]
})

/** `to` are the facts after the change. */
export function takesAccess(action: Action, to: Readonly<Record<string, unknown>>): boolean {
  const found = REVOKING.find((each) => each.action === action)
  if (found?.field === undefined) return found !== undefined
  const { [found.field]: fact = null } = to
  return found.value === ANY ? fact !== null : fact === found.value
}

/** Of names and patterns such as `token.*`; undefined if one of them stands for nothing. */
export function readActions(patterns: readonly string[]): readonly Action[] | undefined {
  const found = patterns.map((pattern) =>
    ACTIONS.filter((action) => pattern === action || pattern === `${kindOf(action)}.*`),
  )
  if (found.some((some) => some.length === 0)) return undefined
  return ACTIONS.filter((action) => found.some((some) => some.includes(action)))
}

const kindOf = (action: Action) => action.slice(0, action.indexOf('.'))
