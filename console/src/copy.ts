// Copies text to the clipboard, and says whether that worked.
import { useCallback, useEffect, useState } from 'react'
import { useToast } from './toasts.tsx'

const COPIED_MS = 2_000

/** `what` is what the text is, such as "Credential". */
export function useCopy(text: string, what: string) {
  const [copied, setCopied] = useState(false)
  const copyText = useCopyText()
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), COPIED_MS)
    return () => clearTimeout(timer)
  }, [copied])
  return { copied, copy: () => void copyText(text, what).then(setCopied) }
}

export function useCopyText() {
  const toast = useToast()
  return useCallback(
    async (text: string, what: string): Promise<boolean> => {
      const done = await writeClipboard(text)
      toast(done ? { text: `${what} copied to the clipboard` } : { text: refused(what), tone: 'bad' })
      return done
    },
    [toast],
  )
}

const refused = (what: string): string =>
  `The browser did not let this page copy. Copy the ${what.toLowerCase()} by hand, where it is shown in full.`

/** Browsers offer the clipboard only over HTTPS and on the machine itself. */
async function writeClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
