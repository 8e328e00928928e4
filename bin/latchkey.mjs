#!/usr/bin/env node
// Starts the command line. Must also run on Node.js versions that are too old for the rest.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const oldest = 24
const major = Number(process.versions.node.split('.')[0])
if (!existsSync(fileURLToPath(new URL('../node_modules/fastify', import.meta.url)))) {
  console.error('latchkey: not installed yet. Run `npm run setup` in its folder first.')
  process.exitCode = 1
} else if (major < oldest) {
  console.error(
    `latchkey: Node.js ${process.versions.node} is too old. Run \`npx latchkey\` in its folder: that uses the pinned one.`,
  )
  process.exitCode = 1
} else {
  await import('../src/compile-cache.mjs')
  await import('../src/main.ts')
}
