// The formats in which others report leaked credentials: a body in, credentials out.
import { Failure } from '../model/errors.ts'
import { SHORTEST_WITH_END } from '../trust/credential.ts'
import { isObject } from '../verify/is-object.ts'
import { candidatesIn, WHOLE_LINES } from './candidates.ts'

export const MAX_REPORTED = 1_000

const invalid = (message: string) => new Failure('invalid-request', message)

/** By anybody: `{credentials: […]}`, or a text in which ours stand anywhere, and imported ones alone on a line. */
export async function readReport(body: unknown): Promise<readonly string[]> {
  const isText = body instanceof Uint8Array
  const credentials = isText ? await credentialsIn(body) : (body as { credentials?: unknown } | undefined)?.credentials
  if (!areTexts(credentials) || credentials.length === 0 || credentials.length > MAX_REPORTED) {
    throw invalid(`credentials must be an array of 1 to ${MAX_REPORTED} strings, or a text must hold as many`)
  }
  // Anybody could guess a shorter one, and switch it off.
  return credentials.filter((each) => each.length >= SHORTEST_WITH_END)
}

async function credentialsIn(text: Uint8Array): Promise<readonly string[]> {
  const found: string[] = []
  for await (const batch of candidatesIn([text], { readings: WHOLE_LINES })) {
    found.push(...batch.keys())
    if (found.length > MAX_REPORTED) break
  }
  return found
}

/** GitHub's and others': `[{token, type, url, source}]`; GitLab's: `[{type, token, location}]`. */
export function readFindings(body: unknown): readonly string[] {
  const tokens = Array.isArray(body)
    ? body.map((each) => (isObject(each) ? (each as { token?: unknown }).token : null))
    : null
  if (!areTexts(tokens)) throw invalid('Request body must be an array of objects, each with a token')
  return tokens
}

/** TruffleHog's: `{"name of the detector": {"name of the expression": ["all of the match", "a group of it"]}}`. */
export function readMatches(body: unknown): readonly string[] {
  const detectors = isObject(body) ? Object.values(body) : []
  const matches = detectors.flatMap((each) => (isObject(each) ? Object.values(each) : [])).flat()
  if (!areTexts(matches) || matches.length === 0 || matches.length > MAX_REPORTED) {
    throw invalid('Request body must be what a custom detector of TruffleHog sends')
  }
  return matches
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}
