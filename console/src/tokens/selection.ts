// The tokens that are selected on the page.
import { useCallback, useEffect, useMemo, useState } from 'react'
import type { Token } from '../../../client/latchkey-client.ts'
import type { TokenSearch } from './token-filters.ts'

/** Only tokens of the present page are selected: another page or filter clears the selection. */
export function useSelection({ history: _, ...place }: TokenSearch, items: readonly Token[] = []) {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const placeKey = JSON.stringify(place)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key decides, though it is not used
  useEffect(() => setIds(new Set()), [placeKey])
  const tokens = useMemo(() => items.filter(({ _id }) => ids.has(_id)), [items, ids])
  const select = useCallback(({ _id }: Token, selected: boolean) => {
    setIds((before) => {
      const after = new Set(before)
      if (selected) after.add(_id)
      else after.delete(_id)
      return after
    })
  }, [])
  const setSelected = (selected: readonly Token[]) => setIds(new Set(selected.map(({ _id }) => _id)))
  return { ids, tokens, select, setSelected }
}
