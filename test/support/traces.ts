// What no answer may tell about the house: where its files lie, what runs it, what it asks its database.
import assert from 'node:assert/strict'

const TRACES = [
  /\.(ts|js|mjs|cjs|sql|db)\b/,
  /\bnode:|node_modules|\bfastify|\bpino\b|\bjose\b|\bsqlite|\bpostgres|\bpg_/i,
  /\bat [\w.<>]+ ?\(|\bat async |\.\w+:\d+:\d+\b/,
  /\/(src|home|root|usr|opt|var|tmp|etc|data)\//,
  /\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|WHERE|RETURNING|CONSTRAINT|SQLITE_\w+|FST_\w+|HPE_\w+|ERR_\w+|E[A-Z]{5,})\b/,
  /constraint failed|violates|relation "|column "|syntax error/i,
]

const STACKS = ['Token expired', 'Authentication required', 'Invalid token', 'Token inactive']

export function assertTellsNothing(body: string, what: string): void {
  for (const trace of TRACES) assert.doesNotMatch(body, trace, what)
  const stack = /"stack":"([^"]*)"/.exec(body)?.[1]
  if (stack !== undefined) assert.ok(STACKS.includes(stack.replace('AuthenticationError: ', '')), `${what}: ${stack}`)
}
