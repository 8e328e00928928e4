// Bars in SVG, by hand: readable without a program, on light and dark pages.
export interface Bar {
  readonly label: string
  readonly value: number
  /** Drawn as a line across the bar. */
  readonly limit: number | undefined
}

const [WIDTH, LABELS, ROW, TOP] = [760, 300, 26, 44]

export function barChart(title: string, bars: readonly Bar[]): string {
  const most = Math.max(...bars.flatMap(({ value, limit }) => [value, limit ?? 0]))
  const room = WIDTH - LABELS - 80
  const x = (value: number) => (LABELS + (value / most) * room).toFixed(1)
  const rows = bars.map(({ label, value, limit }, i) => {
    const y = TOP + i * ROW
    return [
      `<text x="${LABELS - 8}" y="${y + 14}" text-anchor="end">${escapeText(label)}</text>`,
      `<rect x="${LABELS}" y="${y + 2}" width="${((value / most) * room).toFixed(1)}" height="16" rx="2" fill="#4c6ef5"/>`,
      limit === undefined
        ? ''
        : `<line x1="${x(limit)}" x2="${x(limit)}" y1="${y - 1}" y2="${y + 21}" stroke="#f08c00" stroke-width="2"/>`,
      `<text x="${Number(x(Math.max(value, limit ?? 0))) + 6}" y="${y + 14}">${value.toFixed(2)}×</text>`,
    ].join('')
  })
  const height = TOP + bars.length * ROW + 12
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="12" fill="#868e96">
<title>${escapeText(title)}</title>
<text x="8" y="20" font-size="14">${escapeText(title)}</text>
${rows.join('\n')}
</svg>
`
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
