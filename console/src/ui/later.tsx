// Parts of a view that are loaded when they are first drawn: the first rows do not wait for dialogs, pickers and forms.
import { Alert, Button } from '@mantine/core'
import { type ComponentType, createElement, Fragment, lazy, Suspense } from 'react'

const loaders = new Set<() => Promise<unknown>>()

type Load<Props> = () => Promise<ComponentType<Props>>

/** `placeholder` is drawn until it has arrived, and where it does not. */
export function lazily<Props extends object>(
  load: Load<Props>,
  placeholder: ComponentType<Props> = () => null,
): ComponentType<Props> {
  const Part: ComponentType<Props> = lazy(async () => {
    try {
      return { default: await load() }
    } catch {
      // A browser asks once for a file, until the page is loaded again; the files of a page may also be gone, after an update.
      if (isUnused()) location.reload()
      return {
        default: (props) => createElement(Fragment, null, createElement(placeholder, props), createElement(NotLoaded)),
      }
    }
  })
  return (props) => <Suspense fallback={createElement(placeholder, props)}>{createElement(Part, props)}</Suspense>
}

/** Loading it again loses nothing that somebody has begun, and is not repeated without an end. */
function isUnused(): boolean {
  const [opening] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return !navigator.userActivation.hasBeenActive && opening?.type !== 'reload'
}

function NotLoaded() {
  return (
    <Alert
      role="alert"
      color="red"
      title="A part of this page could not be loaded"
      pos="fixed"
      left={16}
      bottom={16}
      style={{ zIndex: 400 }}
    >
      <Button size="xs" variant="default" onClick={() => location.reload()}>
        Load the page again
      </Button>
    </Alert>
  )
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
