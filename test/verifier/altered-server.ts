// `latchkey serve` with one rule left out.
import { alter } from './altered.ts'

alter(JSON.parse(process.env.ALTERATION ?? ''))
process.argv = [...process.argv.slice(0, 2), 'serve']
await import(new URL('../../src/main.ts', import.meta.url).href)
