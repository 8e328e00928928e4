// Steps that leave a page without a navigation, such as signing out, and those who object to them.

export type Step = () => void

/** Those who would ask now. */
export const asking = new Set<(leave: Step) => void>()

/** Takes the step once nobody objects. */
export function beforeLeaving(leave: Step): void {
  const [ask] = asking
  if (ask === undefined) leave()
  else ask(leave)
}
