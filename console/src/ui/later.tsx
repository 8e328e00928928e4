// Parts of a view that are loaded when they are first drawn: the first rows do not wait for dialogs, pickers and forms.
import { type ComponentType, createElement, lazy, Suspense } from 'react'

const loaders = new Set<() => Promise<unknown>>()

type Load<Props> = () => Promise<ComponentType<Props>>

/** `placeholder` is drawn until it has arrived. A page whose files are gone, after an update, gets the new ones. */
export function lazily<Props extends object>(
  load: Load<Props>,
  placeholder: ComponentType<Props> = () => null,
): ComponentType<Props> {
  const Part: ComponentType<Props> = lazy(async () => {
    try {
      return { default: await load() }
    } catch (error) {
      // Once: files that are still missing then would be asked for without an end.
      const [opening] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
      if (opening?.type === 'reload') throw error
      location.reload()
      return { default: placeholder }
    }
  })
  return (props) => <Suspense fallback={createElement(placeholder, props)}>{createElement(Part, props)}</Suspense>
}

/** Of a view, with the style sheets of such parts. */
export function later<Props extends object>(load: Load<Props>, placeholder?: ComponentType<Props>) {
  const loadAll = async () => {
    const [part] = await Promise.all([load(), import('../later-styles.ts')])
    return part
  }
  loaders.add(loadAll)
  return lazily(loadAll, placeholder)
}

/** Once the first view is drawn: what is opened later is then there at once. */
export function loadParts(): void {
  for (const load of loaders) void load().catch(() => undefined)
}
