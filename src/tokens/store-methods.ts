// The methods of a store as an object of their own, some of which can then be replaced.
import type { Store } from './ports.ts'

type Method = (...args: never[]) => unknown

export function methodsOf(store: Store): Store {
  const source = store as unknown as Record<string, unknown>
  const names = [...Object.keys(store), ...Object.getOwnPropertyNames(Object.getPrototypeOf(store))]
  const methods = names.filter((name) => name !== 'constructor' && typeof source[name] === 'function')
  return Object.fromEntries(methods.map((name) => [name, (source[name] as Method).bind(store)])) as unknown as Store
}
