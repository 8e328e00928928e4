import { useState } from 'react'

/** The last value that was defined: a dialog shows it while it fades. `turn` counts the openings. */
export function useLast<Value>(value: Value | undefined): { readonly last: Value | undefined; readonly turn: number } {
  const [state, setState] = useState({ last: value, turn: 0 })
  if (value !== undefined && value !== state.last) setState({ last: value, turn: state.turn + 1 })
  return state
}
