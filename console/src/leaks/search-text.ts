// Sends a text of any size to the service in pieces, and says which tokens' credentials stand in it. Nothing of the text is kept.
import type { LatchkeyClient, LeakedToken } from '../../../client/latchkey-client.ts'

/** In the form that JSON gives to it, even a text of control characters stays below the service's limit. */
const PIECE_BYTES = 1_048_576
/** Longer than a credential in any encoding that the service finds. */
const OVERLAP_BYTES = 8_192

const KEY = /\blk_key_[0-9A-Za-z]{20}/

export interface Searched {
  readonly found: readonly LeakedToken[]
  /** Whether something in it looks like an account key, which only its owner can revoke. */
  readonly hasKey: boolean
}

export interface TextSearch {
  readonly text: Blob
  /** Find only, and change nothing. */
  readonly dryRun: boolean
  readonly signal?: AbortSignal
  /** How much has been searched, from 0 to 1. */
  readonly onProgress: (share: number) => void
}

export async function searchText(client: LatchkeyClient, search: TextSearch): Promise<Searched> {
  const { text, dryRun, signal, onProgress } = search
  const found = new Map<string, LeakedToken>()
  let hasKey = false
  const decoder = new TextDecoder(encodingOf(new Uint8Array(await text.slice(0, 2).arrayBuffer())))
  for (let start = 0; start < text.size; start += PIECE_BYTES - OVERLAP_BYTES) {
    onProgress(start / text.size)
    const piece = await text.slice(start, start + PIECE_BYTES).arrayBuffer()
    const body = { text: decoder.decode(piece), dryRun }
    const report = await client.disableLeaked({ body }, { signal })
    // What a later piece repeats was switched off with an earlier one.
    for (const token of report.found) if (!found.has(token._id)) found.set(token._id, token)
    hasKey ||= KEY.test(body.text)
    if (start + PIECE_BYTES >= text.size) break
  }
  return { found: [...found.values()], hasKey }
}

/** The search is for ASCII: what other characters become does not matter, but in UTF-16, whose marks the service cannot see here. */
function encodingOf([first, second]: Uint8Array): string {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : 'latin1'
}
