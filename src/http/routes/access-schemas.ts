// The schemas of who may do what: account keys, people who are signed in, grants, and the caller.
import { type Static, Type } from 'typebox'
import { ROLES, type Role } from '../../tokens/model/permissions.ts'
import { oneOf, orNull, pageFields, text, time, timeOrNull } from './schemas.ts'

const CALLER_KINDS = ['key', 'jwt', 'oidc'] as const

const ROLE_DESCRIPTION =
  '`owner` may do everything, `manager` all but manage keys and sessions, `viewer` read and introspect, `verifier` introspect'

const Permissions = {
  role: oneOf(ROLES, ROLE_DESCRIPTION, 'viewer'),
  reveal: Type.Boolean({ description: 'Whether credentials are shown' }),
  subAccounts: Type.Unsafe<readonly string[] | null>({
    type: ['array', 'null'],
    items: { type: 'string' },
    description: 'The ids of the only sub-accounts that are seen; null for all',
  }),
}

export const Key = Type.Object(
  {
    _id: text('Account key identifier', 'key_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    name: text('What it is for', 'Support desk'),
    ...Permissions,
    role: Type.Unsafe<Role | null>({
      type: ['string', 'null'],
      enum: [...ROLES, null],
      description: `${ROLE_DESCRIPTION}; null where its rights were altered and cannot be read, which lets nobody in`,
      examples: ['viewer'],
    }),
    createdAt: time('Time of creation'),
    expiresAt: timeOrNull('When it stops working; null for never'),
    revokedAt: timeOrNull('Since when it is revoked'),
    lastUsedAt: timeOrNull('Last request with it, to the minute; null for never'),
  },
  { title: 'Key' },
)
export type WireKey = Static<typeof Key>
export const CreatedKey = Type.Object(
  { ...Key.properties, ...Permissions, key: text('The key itself, shown only once', 'lk_key_…') },
  { title: 'CreatedKey' },
)

export const Session = Type.Object(
  {
    _id: text('Session identifier', 'ses_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
    subject: text('The person, as the identity provider knows them', 'alice'),
    email: orNull(text('Their e-mail address when they signed in', 'alice@example.com')),
    createdAt: time('When they signed in'),
    lastUsedAt: time('Their last request, to the minute'),
    expiresAt: time('When they are signed out unless they go on'),
    role: orNull(text('What their grant lets them do in this account now; null without one', 'viewer')),
    address: orNull(text('Where they signed in from; null for sessions begun before this was stored', '203.0.113.7')),
    userAgent: orNull(text('What their browser says of itself, at most 200 characters of it', 'Mozilla/5.0 (X11; …')),
  },
  { title: 'Session' },
)
export type WireSession = Static<typeof Session>

const grantFields = {
  claim: text('The claim of the identity provider', 'groups'),
  value: text('The value that it has, or that its list contains', 'support'),
  ...Permissions,
}
export const Grant = Type.Object(grantFields, { title: 'Grant' })
export const Grants = Type.Object(
  { grants: Type.Array(Grant, { description: 'In the order of the file' }) },
  { title: 'Grants' },
)
export type WireGrants = Static<typeof Grants>

const TestedGrant = Type.Object(
  {
    ...grantFields,
    matches: Type.Boolean({ description: 'Whether the claims have its value' }),
    decides: Type.Boolean({ description: 'Whether it is the first that matches: its rights are those of the person' }),
  },
  { title: 'TestedGrant' },
)
export const TestedClaims = Type.Object(
  {
    isAdmitted: Type.Boolean({ description: 'Whether a person with these claims can enter the account' }),
    ignored: Type.Array(Type.String(), {
      description:
        'Claims that grants name and that were sent, but do not count, such as an e-mail address that is not verified',
      examples: [['email']],
    }),
    grants: Type.Array(TestedGrant, { description: 'In the order of the file' }),
  },
  { title: 'TestedClaims' },
)
export type WireTestedClaims = Static<typeof TestedClaims>

export const WhoAmI = Type.Object(
  {
    account: Type.Object({
      _id: text('Account identifier', 'acc_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text('Account name', 'Acme'),
    }),
    caller: Type.Object({
      kind: oneOf(
        CALLER_KINDS,
        'An account key, a JWT of the identity provider, or a person who is signed in to the console',
      ),
      _id: text('As the history names the caller in `by`', 'key_019b2f0c5a3c8e1d2c3b4a5f6e7d'),
      name: text("What the account key is called, the JWT's subject, or the person's e-mail address", 'Console'),
    }),
    permissions: Type.Object({
      ...Permissions,
    }),
  },
  { title: 'WhoAmI' },
)
export type WireWhoAmI = Static<typeof WhoAmI>

export const SessionPage = Type.Object(pageFields(Session), { title: 'SessionPage' })
export const KeyPage = Type.Object(pageFields(Key), { title: 'KeyPage' })
