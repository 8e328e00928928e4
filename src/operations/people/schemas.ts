// People who are signed in, and the grants that let them in, as they are sent.
import { Type } from 'typebox'
import { Permissions } from '../permissions.ts'
import { orNull, pageFields, text, time } from '../schemas.ts'

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

export const SessionPage = Type.Object(pageFields(Session), { title: 'SessionPage' })
