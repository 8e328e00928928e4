// Claims as a person enters them: JSON, or a claim and its value on each line.

export type Claims = Readonly<Record<string, unknown>>

/** The form of a line. A value may contain the signs again, as addresses do. */
const LINE = /^\s*([^:=\s]+)\s*[:=]\s*(.*\S)\s*$/

/** Undefined for what is neither. A claim on several lines has all their values. */
export function readClaims(text: string): Claims | undefined {
  return text.trim().startsWith('{') ? readJson(text) : readLines(text)
}

function readJson(text: string): Claims | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function readLines(text: string): Claims | undefined {
  const values = new Map<string, string[]>()
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const [, claim, value] = LINE.exec(line) ?? []
    if (claim === undefined || value === undefined) return undefined
    values.set(claim, [...(values.get(claim) ?? []), value])
  }
  if (values.size === 0) return undefined
  return Object.fromEntries([...values].map(([claim, each]) => [claim, each.length === 1 ? each[0] : each]))
}
