// The processes that another one has started.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

/** From /proc where there is one, since a small machine may have no ps. */
export function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  const rows = execFileSync('ps', ['-o', 'pid=', '-o', 'ppid=', '-A'], { encoding: 'utf8' }).trim().split('\n')
  const pairs = rows.map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.filter(([, parent]) => parent === pid).map(([child = 0]) => child)
}
