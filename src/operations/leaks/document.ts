// What was found in a text, as it is sent and printed.
import type { LeakReport } from '../../tokens/leaks/leaks.ts'
import { subAccountOfToken } from '../tokens/document.ts'

export function leakToWire({ found, disabled }: LeakReport) {
  const tokens = found.map(({ row: { token, subAccount }, wasActive }) => ({
    _id: token.id,
    name: token.name,
    subAccount: subAccountOfToken(subAccount),
    status: token.status,
    wasActive,
  }))
  return { found: tokens, disabled }
}
