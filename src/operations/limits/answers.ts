// What policies do: to one token, and what another policy would do to the tokens of a sub-account.
import { readAccess } from '../../tokens/model/access.ts'
import { readPolicyChange } from '../../tokens/model/update.ts'
import type { Input, Service } from '../operation.ts'
import { explanationToWire, policyImpactToWire } from './document.ts'

export async function explainToken({ registry }: Service, { caller, params, query }: Input) {
  const explanation = await registry.explainToken(caller, params.id, readAccess(query))
  return { data: explanationToWire(explanation), tokenId: params.id }
}

export async function previewPolicy({ registry }: Service, { caller, params, body }: Input) {
  const impact = await registry.policyImpact(caller, params.id, readPolicyChange(body))
  const message = `Found ${impact.affected} token(s) that would lose something`
  return { data: policyImpactToWire(impact), message }
}
