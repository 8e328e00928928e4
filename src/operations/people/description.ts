// The people who are signed in to the console, and the grants by which they enter: an owner lists them, signs people out, and tests what
// claims come to.
import { Type } from 'typebox'
import { reasonOf } from '../../tokens/model/errors.ts'
import { BAD_PAGE } from '../../tokens/model/page.ts'
import { operationsOf } from '../operation.ts'
import { PageParameters } from '../schemas.ts'
import * as answers from './answers.ts'
import { Grants, Session, SessionPage, TestedClaims } from './schemas.ts'

const SESSIONS = { tag: 'Sessions', right: 'manageKeys' } as const
const GRANTS = { tag: 'Sessions', right: 'seeGrants' } as const

export const people = operationsOf(answers, {
  listSessions: {
    ...SESSIONS,
    method: 'GET',
    url: '/api/v1/apiClient/session',
    summary: 'List the people who are signed in to the console and can enter the account, newest first',
    querystring: Type.Object({ ...PageParameters }),
    data: SessionPage,
    success: { message: 'Found 1 session(s)' },
    failures: { 400: [BAD_PAGE] },
  },
  revokeSession: {
    ...SESSIONS,
    method: 'DELETE',
    url: '/api/v1/apiClient/session/:id',
    summary: 'Sign somebody out',
    description:
      'Their next request is refused, in every account. To keep somebody from signing in again, change the grants.',
    params: Type.Object({ id: Type.String({ description: 'The session id' }) }),
    data: Session,
    success: { message: 'Session ended successfully' },
    failures: { 404: [reasonOf('session-not-found')] },
  },
  listGrants: {
    ...GRANTS,
    method: 'GET',
    url: '/api/v1/apiClient/grant',
    summary: 'List the grants by which people enter this account',
    data: Grants,
    success: { message: 'Found 1 grant(s)' },
    failures: {},
  },
  testGrants: {
    ...GRANTS,
    method: 'POST',
    url: '/api/v1/apiClient/grant/test',
    summary: 'Test which grants match the claims of a person',
    description: 'Decided as at sign-in, by the grants as they are now. Changes nothing, and nobody is signed in.',
    body: Type.Object(
      { claims: Type.Object({}, { additionalProperties: true, description: 'As the identity provider says them' }) },
      { title: 'ClaimsTest' },
    ),
    data: TestedClaims,
    success: { message: 'Claims tested successfully' },
    failures: { 400: [answers.NOT_CLAIMS] },
  },
})
