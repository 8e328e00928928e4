// A browser begins a session of the portal with the code that a caller has made for it.

import { PortalCode, PortalSession } from '../../operations/portal/schemas.ts'
import { subAccountOfToken } from '../../operations/tokens/document.ts'
import { unknownNamesCheck } from '../../operations/unknown-names.ts'
import type { RawQuery } from '../../tokens/model/page.ts'
import { toTime } from '../../tokens/model/times.ts'
import { readCode, usesOf } from '../../tokens/portal/session.ts'
import { requirePortalOrigin } from '../access/portal.ts'
import { rightsOfPeople } from '../access/session.ts'
import { bodyFailures, describeFailures, describeSuccess, describeUnauthenticated } from '../description/responses.ts'
import type { PlainRoute, ServerParts } from '../parts.ts'
import { successBody } from '../protocol/envelope.ts'

const BEGUN = 'Portal session begun'
const checkNames = unknownNamesCheck({ body: PortalCode })

export const beginPortalSession = ({ app, signIn, registry: { portal } }: ServerParts): PlainRoute => ({
  method: 'POST',
  url: '/api/v1/portal/session',
  access: 'anyone',
  schema: {
    operationId: 'beginPortalSession',
    summary: 'Begin a session of the portal with its code',
    tags: ['Portal'],
    security: [],
    body: PortalCode,
    response: {
      200: describeSuccess(PortalSession, BEGUN, 1),
      401: describeUnauthenticated('The code is unknown, was used before, or is too old', [
        'token-invalid',
        'token-expired',
      ]),
      ...describeFailures(
        {
          400: ['code is required'],
          403: ['This session is accepted only from https://app.example.com'],
        },
        bodyFailures({}),
      ),
    },
  },
  async respond(request) {
    checkNames({ query: request.query as RawQuery, body: request.body })
    const session = await portal.open('code', readCode(request.body))
    requirePortalOrigin(request, session)
    const { bearer, subAccount } = await portal.begin(session, rightsOfPeople(signIn))
    const data = {
      session: bearer,
      expiresAt: toTime(session.expiresAt),
      subAccount: subAccountOfToken(subAccount),
      may: usesOf(session),
    }
    return successBody(app, BEGUN, data, 1)
  },
})
