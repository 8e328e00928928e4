import { useEffect, useState } from 'react'

/** The last value that was defined: a dialog shows it while it fades. `turn` counts the openings. */
export function useLast<Value>(value: Value | undefined): { readonly last: Value | undefined; readonly turn: number } {
  const [state, setState] = useState({ last: value, turn: 0 })
  if (value !== undefined && value !== state.last) setState({ last: value, turn: state.turn + 1 })
  return state
}

/** False at first: what opens after it is mounted fades in. */
export function useIsMounted(): boolean {
  const [isMounted, setMounted] = useState(false)
  useEffect(() => setMounted(true), [])
  return isMounted
}
