#!/usr/bin/env node
// Starts the command line on the pinned runtime. Must also run on Node.js versions that are too old for the rest.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OLDEST = 24

function find(name) {
  try {
    return createRequire(import.meta.url).resolve(name)
  } catch {
    return undefined
  }
}

/** The runtime that npm has installed together with this package, wherever npm has put it. */
function pinnedRuntime() {
  const system = `${process.platform}-${process.arch}`.replace('win32', 'win')
  const found = find(`node-${system}/package.json`) ?? find(`node-bin-${system}/package.json`)
  return found && join(dirname(found), 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}

/** This process waits for the other, passes signals on, and ends as the other did. */
function runOn(runtime) {
  const child = spawn(runtime, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT']) {
    process.on(signal, () => {
      // Ctrl-C on a terminal has reached the child already; a second one would end it without draining.
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.on('error', (error) => fail(`${runtime} cannot be run: ${error.message}`))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal]
  })
}

function fail(message) {
  console.error(`latchkey: ${message}`)
  process.exitCode = 1
}

const runtime = Number(process.versions.node.split('.')[0]) < OLDEST ? pinnedRuntime() : process.execPath
if (find('fastify') === undefined) fail('not installed yet. Run `npm run setup` in its folder first.')
else if (runtime === undefined) fail(`Node.js ${process.versions.node} is too old, and npm has installed no other.`)
else if (runtime !== process.execPath) runOn(runtime)
else {
  // A clone has the sources, a package the same files without types.
  const [folder, extension] = existsSync(new URL('../src', import.meta.url)) ? ['src', 'ts'] : ['lib', 'js']
  await import(`../${folder}/compile-cache.mjs`)
  await import(`../${folder}/main.${extension}`)
}
