// A text that was pasted elsewhere in the console, on its way to the view of leaks: in memory, and in no address and no history of the
// browser.
let pasted: string | undefined

const CREDENTIALS = /\blk_tok_[0-9A-Za-z]{20,}/g

/** Whether a text has several credentials, which no search for one token can find. */
export const hasSeveral = (text: string): boolean => new Set(text.match(CREDENTIALS)).size > 1

export function handOver(text: string): void {
  pasted = text
}

/** Once. */
export function takePasted(): string | undefined {
  const text = pasted
  pasted = undefined
  return text
}
