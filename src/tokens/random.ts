// Random bytes, fetched in blocks: a few cost as much to ask for as thousands.
import { randomFillSync } from 'node:crypto'

const block = Buffer.alloc(4_096)
let used = block.length

/** At most a block at once. What is handed out is wiped from the block: nobody else has it. */
export function takeRandom(count: number): Buffer {
  if (used + count > block.length) {
    randomFillSync(block)
    used = 0
  }
  const taken = Buffer.from(block.subarray(used, used + count))
  block.fill(0, used, used + count)
  used += count
  return taken
}
