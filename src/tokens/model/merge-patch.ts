// JSON merge patch (RFC 7396).
import { isObject } from '../verify/is-object.ts'
import type { Json, JsonObject } from './fields.ts'

/** The patched value: members that are null in the patch are removed, others replaced, objects merged. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? (target as JsonObject) : {}))
  for (const [name, value] of Object.entries(patch as JsonObject)) {
    if (value === null) merged.delete(name)
    else merged.set(name, mergePatch(merged.get(name), value))
  }
  // Not by assignment: a member called __proto__ must stay a member.
  return Object.fromEntries(merged)
}
