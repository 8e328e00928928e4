// What a verification is asked for, as parameters.

import { parseAddress } from '../verify/addresses.ts'
import { type Access, readScopes } from '../verify/policy.ts'
import { Failure } from './errors.ts'
import { type RawQuery, readOnce } from './page.ts'

export const NOT_AN_ADDRESS = 'address must be an IP address'

export function readAccess(query: RawQuery): Access {
  const address = readOnce(query, 'address')
  if (address !== undefined && parseAddress(address) === undefined) throw new Failure('invalid-request', NOT_AN_ADDRESS)
  return { ...readScopeParameter(query), address }
}

export function readScopeParameter({ scope }: RawQuery): Pick<Access, 'scopes'> {
  if (scope === undefined) return {}
  const read = readScopes(scope)
  if ('problem' in read) throw new Failure('invalid-request', read.problem)
  return read
}
