// The difference of two JSON values as a merge patch (RFC 7396), by which metadata is changed. Pure.
import { isObject } from '../../../src/tokens/verify/is-object.ts'

/** Only the members that differ, null for those that are removed; undefined where nothing differs. */
export function patchBetween(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(before) === JSON.stringify(after) ? undefined : after
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
  const names = new Set([...from.keys(), ...to.keys()])
  const members = [...names].map((name) => [name, to.has(name) ? patchBetween(from.get(name), to.get(name)) : null])
  const changed = members.filter(([, patch]) => patch !== undefined)
  return changed.length === 0 ? undefined : Object.fromEntries(changed)
}

/** Whether something would have to become null: in a merge patch, null removes a member. */
export function setsNull(patch: unknown, after: unknown): boolean {
  if (patch === null) return after === null
  if (!isObject(patch) || !isObject(after)) return false
  const to = new Map(Object.entries(after))
  return Object.entries(patch).some(([name, each]) => to.has(name) && setsNull(each, to.get(name)))
}
