// What is pasted into the search of tokens: a secret or a mask of one is recognised, and never put into an address.

/** Undefined for text that is searched for as it is. */
export type Pasted =
  | { readonly kind: 'credential'; readonly secret: string; readonly end: string }
  /** As lists show it: only its end is known. */
  | { readonly kind: 'mask'; readonly end: string }
  | { readonly kind: 'key' }
  | { readonly kind: 'incomplete' }

const CREDENTIAL = /\blk_tok_[\x21-\x7e]+/
const MASK = /(?:\blk_tok_)?(?:…|\.\.\.)([\x21-\x7e]{4})$/

export function readPasted(text: string): Pasted | undefined {
  const end = MASK.exec(text)?.[1]
  if (end !== undefined) return { kind: 'mask', end }
  if (/\blk_key_/.test(text)) return { kind: 'key' }
  const secret = CREDENTIAL.exec(text)?.[0]
  if (secret !== undefined) return { kind: 'credential', secret, end: secret.slice(-4) }
  return /\blk_[a-z]+_/.test(text) ? { kind: 'incomplete' } : undefined
}
