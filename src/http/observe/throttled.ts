/**
 * Calls `make` at most every `everyMs`, never twice at a time, and shares the result: a route that is open to anyone then
 * costs the same however often it is called. A rejection is shared too. `now` must never go back.
 */
export function throttled<Value>(
  make: () => Promise<Value>,
  everyMs: number,
  now = () => performance.now(),
): () => Promise<Value> {
  let latest: Promise<Value> | undefined
  let startedAt = 0
  let isRunning = false
  return () => {
    if (latest !== undefined && (isRunning || now() - startedAt < everyMs)) return latest
    startedAt = now()
    isRunning = true
    latest = make().finally(() => {
      isRunning = false
    })
    return latest
  }
}

/** Resolves with the work, or after so long without it. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
