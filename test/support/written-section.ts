// The section of a page that a command writes, between two comments.

export function withSection(page: string, command: string, section: string): string {
  const [begin, end] = ['begin', 'end'].map((edge) => `<!-- Written by ${command}: ${edge} -->`) as [string, string]
  const [before, rest] = page.split(begin)
  const after = rest?.split(end)[1]
  if (before === undefined || after === undefined) throw new Error(`the page has no section for ${command}`)
  return `${before}${begin}\n${section}${end}${after}`
}
