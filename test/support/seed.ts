// Random choices that can be repeated: SEED repeats the choices of a run, though not the timing of its processes.
import { randomInt } from 'node:crypto'

export const SEED = Number(process.env.SEED ?? randomInt(2 ** 31))

// Of a file that is run without scripts/test.mjs, which sets the variable and says it itself.
process.once('exit', (code) => {
  if (code !== 0 && process.env.SEED === undefined)
    process.stderr.write(`SEED=${SEED} repeats the random choices of this run.\n`)
})

/** Numbers from 0 up to 1, the same for the same seed and name (mulberry32). */
export function chances(name: string, seed = SEED): () => number {
  let state = [...name].reduce((sum, letter) => Math.imul(sum ^ letter.charCodeAt(0), 0x01000193), seed)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
