// Copies text to the clipboard and reports the outcome of each attempt, which Mantine's useClipboard does not.
import { useCallback, useEffect, useState } from 'react'
import { useToast } from './toasts.tsx'

const COPIED_MS = 2_000

/** `what` is what the text is, such as "Credential". A text that must be fetched first may turn out not to be there. */
export function useCopy(text: string | (() => Promise<string | undefined>), what: string) {
  const [copied, setCopied] = useState(false)
  const copyText = useCopyText()
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [copied])
  const copy = async () => {
    const found = typeof text === 'string' ? text : await text()
    if (found !== undefined) setCopied(await copyText(found, what))
  }
  return { copied, copy: () => void copy() }
}

export function useCopyText() {
  const toast = useToast()
  return useCallback(
    async (text: string, what: string): Promise<boolean> => {
      const copied = await writeClipboard(text)
      toast(copied ? { text: `${what} copied to the clipboard` } : { text: refusal(what), tone: 'bad' })
      return copied
    },
    [toast],
  )
}

const refusal = (what: string): string =>
  `The browser did not let this page copy. Select the ${what.toLowerCase()} where it is shown in full, and copy it there.`

/** Browsers offer the clipboard only over HTTPS and on localhost. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
