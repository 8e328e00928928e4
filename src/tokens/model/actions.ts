// The kinds of change that the history has, which are also those of events.

export const ACTIONS = [
  'account.create',
  'account.rename',
  'account.update',
  'key.create',
  'key.revoke',
  'session.sign-in',
  'session.choose',
  'session.sign-out',
  'session.revoke',
  'sub-account.create',
  'sub-account.update',
  'sub-account.portal',
  'sub-account.portal-end',
  'token.create',
  'token.update',
  'token.rotate',
  'token.reveal',
  'token.erase',
  'token.delete',
  'token.expiring',
  'bulk.create',
  'bulk.undo',
  'webhook.create',
  'webhook.update',
  'webhook.rotate',
  'webhook.redeliver',
  'webhook.skip',
  'webhook.disabled',
  'webhook.delete',
] as const
export type Action = (typeof ACTIONS)[number]

/** Of names and patterns such as `token.*`; undefined if one of them stands for nothing. */
export function readActions(patterns: readonly string[]): readonly Action[] | undefined {
  const found = patterns.map((pattern) =>
    ACTIONS.filter((action) => pattern === action || pattern === `${kindOf(action)}.*`),
  )
  if (found.some((some) => some.length === 0)) return undefined
  return ACTIONS.filter((action) => found.some((some) => some.includes(action)))
}

const kindOf = (action: Action) => action.slice(0, action.indexOf('.'))
