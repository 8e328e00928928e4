// Scripts: the requests of a workload, and how one of them is drawn.
export interface Part {
  /** Its part of the requests; shares of one script add up to 1. */
  readonly share: number
  readonly status: number
  /** A group is drawn by Zipf's law, then one of its requests evenly. */
  readonly groups: readonly (readonly string[])[]
  /** Requests 2n and 2n+1 undo each other: they are sent in turn, never both at once. */
  readonly inPairs?: boolean
}

export type Script = readonly Part[]

export function drawByZipf(n: number): number {
  let total = 0
  for (let i = 1; i <= n; i++) total += 1 / i
  let point = Math.random() * total
  for (let i = 1; i <= n; i++) {
    point -= 1 / i
    if (point <= 0) return i - 1
  }
  return n - 1
}

/** A request: its part, its group, and its number there. */
export function drawRequest(script: Script): { part: Part; group: readonly string[]; at: number } {
  const draw = Math.random()
  let below = 0
  const part =
    script.find(({ share }) => {
      below += share
      return draw < below
    }) ?? script.at(-1)
  const group = part?.groups[drawByZipf(part.groups.length)]
  if (part === undefined || group === undefined) throw new Error('an empty script')
  return { part, group, at: Math.floor(Math.random() * group.length) }
}

/**
 * Requests as the load would draw them, for asking beforehand what their answers are. Of pairs, by default those that
 * change nothing as long as the others were not sent.
 */
export function drawRequests(script: Script, count: number, turn: 0 | 1 = 1): string[] {
  return Array.from({ length: count }, () => {
    const { part, group, at } = drawRequest(script)
    return group[part.inPairs ? at - (at % 2) + turn : at] ?? ''
  })
}

/** Pairs of requests that change a token's name or its status. */
export interface Changed {
  readonly names: readonly string[]
  readonly states: readonly string[]
}

/** Four of five change the status, the fifth the name; each change undoes the one before. */
export function changes(groups: readonly (readonly Changed[])[]): Part {
  const requests = groups.map((tokens) => tokens.flatMap(({ names, states }, i) => (i % 5 === 0 ? names : states)))
  return { share: 1, status: 200, groups: requests, inPairs: true }
}
